// Colours with patterns, so that no mark is told by its colour alone.

const SIZE = 10;

type Lines = (paint: CanvasRenderingContext2D) => void;

const line = (...ends: [number, number, number, number][]): Lines => (paint) => {
  for (const [x, y, toX, toY] of ends) {
    paint.moveTo(x, y);
    paint.lineTo(toX, toY);
  }
};

/** Plain, then lines in different directions, dots, and pairs of lines. */
const PATTERNS: Lines[] = [
  () => {},
  line([-2, 12, 12, -2], [-2, 2, 2, -2], [8, 12, 12, 8]),
  line([-2, -2, 12, 12], [8, -2, 12, 2], [-2, 8, 2, 12]),
  line([0, 5, 10, 5]),
  line([5, 0, 5, 10]),
  line([0, 5, 10, 5], [5, 0, 5, 10]),
  (paint) => paint.rect(3, 3, 3, 3),
  line([0, 3, 10, 3], [0, 6, 10, 6]),
];

function tile(colour: string, pattern: number): HTMLCanvasElement {
  const found = document.createElement("canvas");
  found.width = found.height = SIZE;
  const paint = found.getContext("2d")!;
  paint.fillStyle = colour;
  paint.fillRect(0, 0, SIZE, SIZE);
  paint.strokeStyle = "#ffffffcc";
  paint.lineWidth = 1.6;
  paint.beginPath();
  PATTERNS[pattern % PATTERNS.length]!(paint);
  paint.stroke();
  return found;
}

/** What an area of this colour and pattern is filled with. */
export function filling(paint: CanvasRenderingContext2D, colour: string, pattern: number): CanvasPattern | string {
  return paint.createPattern(tile(colour, pattern), "repeat") ?? colour;
}

/** The mark of a legend. */
export function swatch(colour: string, pattern = 0): HTMLElement {
  const found = document.createElement("span");
  found.className = "swatch";
  found.style.background = pattern ? `url(${tile(colour, pattern).toDataURL()})` : colour;
  return found;
}
