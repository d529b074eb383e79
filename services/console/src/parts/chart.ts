/** Lines over time, drawn by uPlot. Loaded with the first chart. */
import UPlot from 'uplot';
import { clock } from '../words.ts';

export interface ChartLine {
  readonly name: string;
  /** A colour of the style sheet: `var(--accent)`. */
  readonly color: string;
  readonly dash: readonly number[];
}

export interface DrawnChart {
  /** @param times seconds since 1970. @param values of each line; null where there is none. */
  draw(times: readonly number[], values: readonly (readonly (number | null)[])[]): void;
  end(): void;
}

/** Pixels between times on the axis: a time with seconds is about 50 wide. */
const labelSpace = 72;

/** Times of day, with seconds where minutes would be the same. */
function timesOf(seconds: readonly number[]): string[] {
  const [first = 0, second = Infinity] = seconds;
  return seconds.map((at) => clock(at * 1_000).slice(0, second - first < 60 ? 8 : 5));
}

/** Draws into an element, as wide as it is, again when its width or the colours of the page change. @param height in pixels. @param span longest displayed time in seconds, up to the last point. */
export function chart(host: HTMLElement, lines: readonly ChartLine[], height: number, span: number): DrawnChart {
  let data: [number[], ...(number | null)[][]] = [[], ...lines.map(() => [])];
  let plot: UPlot | undefined;
  const make = (): void => {
    plot?.destroy();
    const [ink, grid] = [colorOf(host, 'var(--dim)'), colorOf(host, 'var(--line)')];
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
    plot = new UPlot(
      {
        width: Math.max(120, host.clientWidth),
        height,
        legend: { show: false },
        cursor: { show: false },
        axes: [
          { ...axis, space: labelSpace, values: (_plot, splits) => timesOf(splits) },
          { ...axis, size: 60 },
        ],
        scales: {
          x: { range: (_plot, from, to) => rangeOf(from, to, span) },
          y: { range: (_plot, _from, to) => [0, to > 0 ? to * 1.1 : 1] },
        },
        series: [
          {},
          ...lines.map(({ name, color, dash }) => ({
            label: name,
            stroke: colorOf(host, color),
            width: 2,
            dash: [...dash],
            points: { show: true, size: 4 },
          })),
        ],
      },
      data,
      host,
    );
  };
  make();
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  scheme.addEventListener('change', make);
  let { clientWidth: width } = host;
  const resized = new ResizeObserver(() => {
    if (host.clientWidth === width || host.clientWidth === 0) return;
    width = host.clientWidth;
    plot?.setSize({ width: Math.max(120, width), height });
  });
  resized.observe(host);
  return {
    draw(times, values) {
      data = [[...times], ...values.map((each) => [...each])];
      plot?.setData(data);
    },
    end() {
      scheme.removeEventListener('change', make);
      resized.disconnect();
      plot?.destroy();
    },
  };
}

/** Shortest displayed time in seconds, and room for a point at either end. */
const least = 120;
const room = 5;

/** From the first point, as long as there are few. */
function rangeOf(from: number | null, to: number | null, span: number): [number, number] {
  const last = to ?? 0;
  return [Math.max(last - span, Math.min(from ?? last, last - least)) - room, last + room];
}

/** A canvas knows no variables of a style sheet: the colour that they stand for now. */
function colorOf(host: HTMLElement, color: string): string {
  const probe = document.createElement('span');
  probe.style.color = color;
  host.append(probe);
  const { color: computed } = getComputedStyle(probe);
  probe.remove();
  return computed;
}
