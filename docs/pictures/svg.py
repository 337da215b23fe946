"""A few shapes as SVG text: enough for the pictures of the documentation, and the same bytes on every machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

BLUE, ORANGE, GRAY, INK = "#2457a7", "#d9822b", "#8a8f98", "#1d232b"


@dataclass
class Drawing:
    """A white sheet with shapes; y grows downward, lengths are pixels."""

    width: int
    height: int
    title: str
    shapes: list[str] = field(default_factory=list)

    def rectangle(self, box: tuple[float, float, float, float], fill: str, *, style: str = "") -> None:
        """Draw a box given as left, top, width, height."""
        x, y, width, height = box
        self.shapes.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}" {style}/>'
        )

    def line(self, start: tuple[float, float], end: tuple[float, float], color: str, *, style: str = "") -> None:
        """Draw a straight line."""
        (x1, y1), (x2, y2) = start, end
        self.shapes.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" {style}/>')

    def path(self, points: list[tuple[float, float]], color: str, *, style: str = "") -> None:
        """Draw a line through points."""
        steps = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.shapes.append(f'<polyline points="{steps}" fill="none" stroke="{color}" {style}/>')

    def text(
        self, at: tuple[float, float], words: str, *, color: str = INK, anchor: str = "start", size: int = 13
    ) -> None:
        """Write words; anchor is start, middle or end."""
        x, y = at
        place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
        self.shapes.append(f'<text {place} fill="{color}" font-size="{size}">{escape(words)}</text>')

    def circle(self, center: tuple[float, float], radius: float, color: str, *, style: str = "") -> None:
        """Draw a disk."""
        x, y = center
        self.shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{color}" {style}/>')

    def arrow(self, start: tuple[float, float], end: tuple[float, float], color: str = INK) -> None:
        """Draw a line with a head at its end."""
        self.line(start, end, color, style='stroke-width="1.5" marker-end="url(#head)"')

    def render(self) -> str:
        """Return the whole picture."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img" font-family="sans-serif">\n'
            f"<title>{escape(self.title)}</title>\n"
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" '
            'markerWidth="8" markerHeight="8" orient="auto">'
            f'<path d="M0,0 L8,4 L0,8 z" fill="{INK}"/></marker></defs>\n'
            f'<rect width="{self.width}" height="{self.height}" fill="white"/>\n'
        )
        return head + "\n".join(self.shapes) + "\n</svg>\n"
