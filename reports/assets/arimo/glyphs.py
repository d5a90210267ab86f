"""Writes glyphs.txt, which figures are measured and drawn with: python3 glyphs.py (needs fontTools).

The first line names the font file by its SHA-256. Each other line is a character: code point, glyph, advance, and its
outline in units of 1/2048 em, y upwards: M and L take a point, Q a handle and a point, Z closes. U+FFFD stands for characters that the font lacks;
it is as wide as the size, as most of those are."""

import hashlib
import pathlib

from fontTools.pens.basePen import BasePen
from fontTools.ttLib import TTFont

HERE = pathlib.Path(__file__).parent
FILE = HERE / "Arimo-Subset.ttf"


class Outline(BasePen):
    """Joins the steps of a glyph; BasePen takes composites and chains of handles apart."""

    def __init__(self, glyphs):
        super().__init__(glyphs)
        self.steps = []

    def add(self, letter, *points):
        self.steps.append(" ".join([letter, *(f"{value:g}" for point in points for value in point)]))

    def _moveTo(self, point):
        self.add("M", point)

    def _lineTo(self, point):
        self.add("L", point)

    def _qCurveToOne(self, handle, point):
        self.add("Q", handle, point)

    def _closePath(self):
        self.add("Z")


def main():
    font = TTFont(FILE)
    glyphs = font.getGlyphSet()
    lines = [f"# sha256 {hashlib.sha256(FILE.read_bytes()).hexdigest()}"]
    for code, name in sorted(font.getBestCmap().items()) + [(0xFFFD, ".notdef")]:
        outline = Outline(glyphs)
        glyphs[name].draw(outline)
        advance = font["head"].unitsPerEm if name == ".notdef" else font["hmtx"][name][0]
        lines.append(" ".join([f"{code:04x} {font.getGlyphID(name)} {advance}", *outline.steps]))
    (HERE / "glyphs.txt").write_text("\n".join(lines) + "\n")


main()
