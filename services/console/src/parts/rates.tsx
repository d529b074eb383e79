/** Calls, failures and how long they took in the last half hour: as charts, with code loaded on display, in a sentence, and as a table. */
import type { RateHistory, RatePoint } from '@omnibus/admin-api';
import { useEffect, useRef } from 'preact/hooks';
import { useLive } from '../api/live.ts';
import { Empty, Shown } from './basics.tsx';
import { Table } from './table.tsx';
import { clock, count, duration, numberWords } from '../words.ts';

const everyMs = 10_000;

/** @param server undefined: all servers together. */
export function Rates({ server }: { readonly server?: string }) {
  const history = useLive<RateHistory>(
    `metrics/history${server === undefined ? '' : `?server=${encodeURIComponent(server)}`}`,
    everyMs,
  );
  return (
    <section aria-label="Rates">
      <h2>The last half hour</h2>
      <Shown live={history}>
        {({ points, everyMs: step }) =>
          points.length === 0 ? (
            <Empty why="Nothing was measured yet: the first ten seconds are not over." />
          ) : (
            <>
              <p>{sentence(points, step)}</p>
              {points.some(({ calls }) => calls > 0) && (
                <div class="charts">
                  <Chart
                    title="Calls a second"
                    label="Calls and failed calls a second, over time"
                    points={points}
                    lines={[
                      ['calls', 'var(--accent)', ({ calls }) => (calls * 1_000) / step],
                      ['failed', 'var(--bad)', ({ failed }) => (failed * 1_000) / step],
                    ]}
                  />
                  <Chart
                    title="Milliseconds a call"
                    label="Median and 95th percentile of the time of a call, over time"
                    points={points}
                    lines={[
                      ['p50', 'var(--good)', ({ p50 }) => p50 ?? null],
                      ['p95', 'var(--warn)', ({ p95 }) => p95 ?? null],
                    ]}
                  />
                </div>
              )}
              <Points points={points} />
            </>
          )
        }
      </Shown>
    </section>
  );
}

function sentence(points: readonly RatePoint[], step: number): string {
  const calls = points.reduce((sum, point) => sum + point.calls, 0);
  if (calls === 0) return `No call in the last ${duration(points.length * step)}.`;
  const failed = points.reduce((sum, point) => sum + point.failed, 0);
  const busiest = points.reduce((most, point) => (point.calls > most.calls ? point : most));
  return `${count(calls, 'call')} in the last ${duration(points.length * step)}, ${numberWords(failed)} failed; at most ${((busiest.calls * 1_000) / step).toFixed(1)} a second, at ${clock(Date.parse(busiest.at)).slice(0, 8)}.`;
}

function Points({ points }: { readonly points: readonly RatePoint[] }) {
  const busy = points.filter(({ calls }) => calls > 0).toReversed();
  if (busy.length === 0) return null;
  return (
    <details>
      <summary>As a table</summary>
      <Table label="Rates as a table" head={['From', 'Calls', 'Failed', 'p50', 'p95']}>
        {busy.map(({ at, calls, failed, p50, p95 }) => (
          <tr key={at}>
            <td>
              <time dateTime={at} title={at}>
                {clock(Date.parse(at))}
              </time>
            </td>
            <td class="number">{numberWords(calls)}</td>
            <td class="number">{numberWords(failed)}</td>
            <td class="number">{p50 === undefined ? '–' : duration(p50)}</td>
            <td class="number">{p95 === undefined ? '–' : duration(p95)}</td>
          </tr>
        ))}
      </Table>
    </details>
  );
}

interface ChartProps {
  readonly title: string;
  /** Its contents, for users that do not see it. */
  readonly label: string;
  readonly points: readonly RatePoint[];
  /** Name, colour and value of each line; null where there is none. */
  readonly lines: readonly (readonly [string, string, (point: RatePoint) => number | null])[];
}

const height = 150;
/** As long as the gateway keeps rates. */
const spanSeconds = 1_800;
/** Dashes of the lines, so that they are not told apart by colour alone. */
const dashes = [[], [6, 4]] as const;

function Chart({ title, label, points, lines }: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const draw = useRef<(points: readonly RatePoint[]) => void>(() => undefined);
  const latest = useRef(points);
  latest.current = points;
  useEffect(() => {
    const ending = new AbortController();
    const element = host.current;
    let end = (): void => undefined;
    import('./chart.ts').then(
      ({ chart }) => {
        // The view may be gone by now.
        if (ending.signal.aborted || element === null) return;
        const made = chart(
          element,
          lines.map(([name, color], index) => ({ name, color, dash: dashes[index % dashes.length] ?? [] })),
          height,
          spanSeconds,
        );
        draw.current = (shown) =>
          made.draw(
            shown.map(({ at }) => Date.parse(at) / 1_000),
            lines.map(([, , value]) => shown.map(value)),
          );
        draw.current(latest.current);
        end = () => made.end();
      },
      () => undefined,
    ); // Without its code the sentence and the table say the same.
    return () => {
      ending.abort();
      end();
    };
  }, []);
  useEffect(() => draw.current(points), [points]);
  return (
    <figure>
      <figcaption>
        {title}{' '}
        <span class="dim">{lines.map(([name], index) => `${name} ${index === 0 ? '———' : '– – –'}`).join('  ')}</span>
      </figcaption>
      <div class="chart" role="img" aria-label={label} ref={host} />
    </figure>
  );
}
