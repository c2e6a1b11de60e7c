"""A scripted model for the app-server benchmarks: streams every answer in timed pieces.

    python benchmarks/stream_model.py --pieces 20 --pause 0.01

Prints its port, then serves the Responses API over HTTP until it is ended. Each piece is the
Unix time in nanoseconds at which it was sent, so that a reader can tell how long it took.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time


def event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


class StreamModel:
    def __init__(self, pieces: int, pause: float) -> None:
        self.pieces = pieces
        self.pause = pause
        self.answers = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = next(
                    (
                        int(line[15:])
                        for line in head.split("\r\n")
                        if line[:15] == "content-length:"
                    ),
                    0,
                )
                await reader.readexactly(length)
                if "/responses" in head.partition("\r\n")[0]:
                    await self.answer(writer)
                else:
                    writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def answer(self, writer: asyncio.StreamWriter) -> None:
        self.answers += 1
        response_id, item_id = f"resp_{self.answers}", f"msg_{self.answers}"
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        item = {"type": "message", "id": item_id, "role": "assistant", "content": []}
        self.send(writer, event("response.created", response={"id": response_id}))
        self.send(writer, event("response.output_item.added", output_index=0, item=item))
        text = ""
        for _ in range(self.pieces):
            await asyncio.sleep(self.pause)
            piece = f"{time.time_ns()} "
            text += piece
            delta = {"item_id": item_id, "output_index": 0, "content_index": 0, "delta": piece}
            self.send(writer, event("response.output_text.delta", **delta))
            await writer.drain()
        item["content"] = [{"type": "output_text", "text": text}]
        self.send(writer, event("response.output_item.done", output_index=0, item=item))
        usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        self.send(writer, event("response.completed", response={"id": response_id, "usage": usage}))
        writer.write(b"0\r\n\r\n")

    def send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(chunk(data))


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pieces", type=int, default=20)
    parser.add_argument("--pause", type=float, default=0.01)
    options = parser.parse_args()
    model = StreamModel(options.pieces, options.pause)
    server = await asyncio.start_server(model.handle, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
