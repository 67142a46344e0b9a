"""Writes resized.json: what Pillow's filters make of a small picture. Needs `pip install pillow`."""

import json
import pathlib

import PIL
from PIL import Image

WIDTH, HEIGHT = 23, 17


def pixel(x, y):
    return ((37 * x + 11 * y * y) % 256, (13 * x * y) % 256, (200 - 9 * x + 5 * y) % 256)


picture = Image.new("RGB", (WIDTH, HEIGHT))
picture.putdata([pixel(x, y) for y in range(HEIGHT) for x in range(WIDTH)])
cases = []
for resample in range(4):
    for width, height in [(5, 4), (8, 8), (23, 6), (31, 29), (1, 1)]:
        resized = picture.resize((width, height), resample)
        cases.append({"resample": resample, "width": width, "height": height, "rgb": list(resized.tobytes())})

path = pathlib.Path(__file__).with_name("resized.json")
lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
path.write_text(f'{{"pillow":"{PIL.__version__}","cases":[\n{lines}\n]}}\n')
