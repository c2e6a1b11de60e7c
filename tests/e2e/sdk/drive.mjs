// node drive.mjs SDK_MODULE FERRULE WORKSPACE CASE : one case with the official SDK; prints JSON.
const [sdk, ferrule, workspace, name, ...rest] = process.argv.slice(2);
const { Codex } = await import(sdk);
const codex = new Codex({ codexPathOverride: ferrule });
const options = { workingDirectory: workspace };

const cases = {
  async turn() {
    const thread = codex.startThread(options);
    return { ...(await thread.run("say hello")), id: thread.id };
  },
  async stream() {
    const { events } = await codex.startThread(options).runStreamed("do it");
    const types = [];
    for await (const event of events) types.push(event.item ? `${event.type}:${event.item.type}` : event.type);
    return types;
  },
  async resume() {
    const first = codex.startThread(options);
    await first.run("first");
    const second = codex.resumeThread(first.id, options);
    const turn = await second.run("second");
    return { finalResponse: turn.finalResponse, ids: [first.id, second.id] };
  },
  async images() {
    const input = [{ type: "text", text: "look" }, { type: "local_image", path: rest[0] }];
    return await codex.startThread(options).run(input);
  },
  async schema() {
    const outputSchema = {
      type: "object", properties: { answer: { type: "string" } }, required: ["answer"], additionalProperties: false,
    };
    return await codex.startThread(options).run("answer", { outputSchema });
  },
  async failure() {
    try { await codex.startThread(options).run("fail"); } catch (error) { return { error: error.message }; }
    return { error: null };
  },
  async abort() {
    const controller = new AbortController();
    const { events } = await codex.startThread(options).runStreamed("wait", { signal: controller.signal });
    try {
      for await (const event of events) if (event.type === "item.started") controller.abort();
    } catch (error) { return { error: error.name }; }
    return { error: null };
  },
  async settings() {
    const tuned = new Codex({ codexPathOverride: ferrule, config: { sandbox_workspace_write: { network_access: true } } });
    const thread = tuned.startThread({
      ...options, model: "other-model", sandboxMode: "read-only", modelReasoningEffort: "high",
      networkAccessEnabled: false, webSearchMode: "disabled", approvalPolicy: "never", additionalDirectories: ["/tmp"],
    });
    return await thread.run([{ type: "text", text: "one" }, { type: "text", text: "two" }]);
  },
};
console.log(JSON.stringify(await cases[name]()));
