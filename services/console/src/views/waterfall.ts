/** Turns the events of one call into periods of time, to show where its time went. */
import type { TapEvent } from '@omnibus/admin-api';

export interface Stretch {
  readonly process: string;
  readonly what: string;
  /** Decides the colour: work is done, the call waits for a free place, or it waits for a person. */
  readonly kind: 'work' | 'wait' | 'person';
  /** Milliseconds since the call began. */
  readonly from: number;
  readonly to: number;
  readonly detail: string;
  /** Whether its times were moved, because the clock of its machine differs and put it before its cause. */
  readonly isShifted: boolean;
  readonly isOpen: boolean;
}

/** The events that begin and end each period. A period ends with the first such event after its beginning. */
const pairs: readonly {
  readonly from: TapEvent['from'];
  readonly begins: string;
  readonly ends: readonly string[];
  readonly what: string;
  readonly kind: Stretch['kind'];
}[] = [
  { from: 'edge', begins: 'arrived', ends: ['answered', 'gone', 'refused'], what: 'request', kind: 'work' },
  { from: 'session', begins: 'routed', ends: ['settled'], what: 'exchange', kind: 'work' },
  { from: 'session', begins: 'run', ends: ['settled'], what: 'calls of its own', kind: 'work' },
  {
    from: 'session',
    begins: 'asked',
    ends: ['client-answered', 'withdrawn', 'settled'],
    what: 'client is asked',
    kind: 'person',
  },
  {
    from: 'session',
    begins: 'approval-asked',
    ends: ['routed', 'settled'],
    what: 'waits for an approval',
    kind: 'person',
  },
  { from: 'backend', begins: 'queued', ends: ['written', 'server-answered'], what: 'waits for a place', kind: 'wait' },
  { from: 'backend', begins: 'standing', ends: ['server-answered'], what: 'ran before the watch', kind: 'work' },
  { from: 'backend', begins: 'written', ends: ['server-answered'], what: 'server answers', kind: 'work' },
];

/** @returns the periods in the order in which they began, and the milliseconds of the whole call. */
export function stretchesOf(events: readonly TapEvent[]): {
  readonly stretches: readonly Stretch[];
  readonly total: number;
} {
  const inOrder = events.toSorted((one, other) => one.at - other.at);
  const shifts = shiftsOf(inOrder);
  const timed = inOrder.map((event) => ({ ...event, at: event.at + (shifts.get(event.process) ?? 0) }));
  const start = Math.min(...timed.map(({ at }) => at));
  const end = Math.max(...timed.map(({ at }) => at));
  const stretches = pairs.flatMap(({ from, begins, ends, what, kind }) =>
    timed
      .filter((event) => event.from === from && event.what === begins)
      .map((event): Stretch => {
        const last = timed.find(
          (other) =>
            other.process === event.process &&
            other.from === from &&
            other.at >= event.at &&
            other !== event &&
            ends.includes(other.what),
        );
        return {
          process: event.process,
          what,
          kind,
          from: event.at - start,
          to: (last?.at ?? end) - start,
          detail: detailOf(event, last),
          isShifted: (shifts.get(event.process) ?? 0) !== 0,
          isOpen: last === undefined,
        };
      }),
  );
  return { stretches: stretches.toSorted((one, other) => one.from - other.from), total: Math.max(0, end - start) };
}

const order = ['edge', 'session', 'backend'] as const;

/** Milliseconds by which the times of each process are moved. Clocks may differ by more than a call takes: a process with a first event before its cause is moved to it. */
function shiftsOf(events: readonly TapEvent[]): ReadonlyMap<string, number> {
  const shifts = new Map<string, number>();
  let cause: number | undefined;
  for (const from of order) {
    const first = events.find((event) => event.from === from);
    if (first === undefined) continue;
    const known = shifts.get(first.process) ?? 0;
    const at = first.at + known;
    if (cause !== undefined && at < cause) shifts.set(first.process, known + cause - at);
    cause = Math.max(at, cause ?? at);
  }
  return shifts;
}

function detailOf(event: TapEvent, last: TapEvent | undefined): string {
  const said = { ...last, ...event } as Readonly<Record<string, unknown>>;
  const parts = [
    ['method', ''],
    ['tool', ''],
    ['worker', 'to '],
    ['connection', 'connection '],
    ['attempt', 'attempt '],
    ['running', 'beside '],
    ['waiting', 'waiting before it '],
    ['outcome', ''],
    ['reason', ''],
  ].flatMap(([name = '', words = '']) =>
    typeof said[name] === 'string' || typeof said[name] === 'number' ? [`${words}${said[name]}`] : [],
  );
  return [...new Set(parts)].join(', ');
}
