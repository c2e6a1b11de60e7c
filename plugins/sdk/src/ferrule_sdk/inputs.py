"""What a user gives to a turn, in wire form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_sdk.places import absolute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.items import ImageDetail, ImageInput, LocalImageInput, UserInput
    from ferrule_sdk.options import Where

_URLS: Final = ("http://", "https://", "data:")


def user_input(
    prompt: str | Sequence[UserInput],
    images: Sequence[Where] = (),
    detail: ImageDetail | None = None,
) -> list[UserInput]:
    """Put a prompt and images together.

    Args:
        prompt: Text, or input that is in wire form already.
        images: Files, which the server reads, and URLs.
        detail: How closely the model looks at the images.
    """
    given: list[UserInput]
    given = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else list(prompt)
    return [*given, *(_image(image, detail) for image in images)]


def _image(image: Where, detail: ImageDetail | None) -> ImageInput | LocalImageInput:
    made: ImageInput | LocalImageInput
    if isinstance(image, str) and image.startswith(_URLS):
        made = {"type": "image", "url": image}
    else:
        made = {"type": "localImage", "path": absolute(image)}
    if detail is not None:
        made["detail"] = detail
    return made
