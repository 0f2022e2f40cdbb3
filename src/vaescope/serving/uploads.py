"""An image that somebody sent, decoded in a process of its own with limits on memory and time.

As a program: `python -m vaescope.serving.uploads CHANNELS HEIGHT WIDTH` takes the file on stdin and
writes its size in words, a line end, and the pixels as bytes in channels-first order.
"""

import io
import subprocess
import sys

from vaescope.errors import DataError

__all__ = ["decoded_upload"]

#: Pixels that an image may have, bytes that the process may use, and its seconds.
PIXELS, MEMORY, SECONDS = 40_000_000, 1 << 30, 15
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")


def decoded_upload(content: bytes, shape: tuple[int, ...]) -> tuple[bytes, str]:
    """The pixels of an image in a model's shape, and how it was fitted.

    Raises:
        DataError: it is no image, too large, or took too long.
    """
    remedy = f"Send a {', '.join(FORMATS[:-1])} or {FORMATS[-1]} file."
    try:
        done = subprocess.run(
            [sys.executable, "-m", "vaescope.serving.uploads", *map(str, shape)],
            input=content, capture_output=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise DataError(f"The image took more than {SECONDS} s.", remedy) from None
    words, found, pixels = done.stdout.partition(b"\n")
    if done.returncode or not found:
        says = words.decode("utf-8", "replace")[:200] if done.returncode == 3 else ""
        raise DataError(f"That is not an image that can be read. {says}".strip(), remedy)
    return pixels, words.decode()


def _main() -> int:
    import resource

    from PIL import Image

    channels, height, width = map(int, sys.argv[1:4])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    Image.MAX_IMAGE_PIXELS = PIXELS

    def refuse(says: str) -> int:
        sys.stdout.write(says + "\n")
        return 3

    try:
        sent = Image.open(io.BytesIO(sys.stdin.buffer.read()), formats=FORMATS)
        given = sent.size
        if given[0] * given[1] > PIXELS:
            return refuse(f"It has {given[0] * given[1]:,} pixels; the limit is {PIXELS:,}.")
        image = sent.convert("L" if channels == 1 else "RGB")
    except Image.DecompressionBombError:
        return refuse(f"It has more than {PIXELS:,} pixels.")
    except (OSError, ValueError, SyntaxError, MemoryError) as error:
        return refuse(type(error).__name__)
    if channels not in (1, 3):
        return refuse(f"The model takes {channels} channels.")
    # The middle of it, in the model's proportions.
    scale = min(image.width / width, image.height / height)
    cut = (round(width * scale), round(height * scale))
    left, top = (image.width - cut[0]) // 2, (image.height - cut[1]) // 2
    box = (left, top, left + cut[0], top + cut[1])
    filters = Image.Resampling.BOX if scale > 1 else Image.Resampling.BICUBIC
    fitted = image.resize((width, height), filters, box=box)
    planes = b"".join(band.tobytes() for band in fitted.split())
    words = f"{given[0]} x {given[1]} pixels to {width} x {height}"
    words += "" if cut == given else ", the middle of it"
    sys.stdout.buffer.write(words.encode() + b"\n" + planes)
    return 0


if __name__ == "__main__":
    sys.exit(_main())
