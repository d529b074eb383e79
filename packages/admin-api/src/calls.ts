/** Assembles the events of one tag into a call. */
import type { Call, CallState, Outcome, TapEvent } from './traffic.ts';

/** Outcomes as backends name them, of calls that ran before they were watched: of their end only the backend reports. */
const ofBackend: Readonly<Record<string, Outcome>> = {
  result: 'result',
  tool_error: 'toolError',
  error: 'error',
  fault: 'fault',
  cancelled: 'cancelled',
};

/** Assembles a call; of a member that several events have, the first one counts. Kinds of events that are not known, as of another version, are left aside. */
export function callOf(events: readonly TapEvent[]): Call {
  const inOrder = events.toSorted((one, other) => one.at - other.at);
  const text = (name: string): string | undefined => {
    const found = inOrder.find((event) => typeof event[name] === 'string' && event[name] !== '');
    return found?.[name] as string | undefined;
  };
  const settled = inOrder.findLast(({ what }) => what === 'settled') ?? endOfStanding(inOrder);
  const refused = inOrder.find(({ what }) => what === 'refused');
  const answered = inOrder.findLast(({ what, from }) => from === 'edge' && (what === 'answered' || what === 'gone'));
  // The edge answers a call over several rounds with the question first.
  const ends = inOrder.some(({ what }) => what === 'parked') ? [settled] : [answered, settled];
  const ms = ends.map((end) => end?.['ms']).find((each) => typeof each === 'number');
  const outcome = (settled?.['outcome'] ?? (refused === undefined ? undefined : 'fault')) as Outcome | undefined;
  const members = {
    name: text('name'),
    server: text('server'),
    tool: text('tool'),
    endpoint: text('endpoint'),
    client: text('client'),
    session: text('session'),
    principal: text('principal'),
    state: stateOf(inOrder, settled !== undefined || refused !== undefined),
    progress: progressOf(inOrder),
    outcome,
    reason: (settled ?? refused)?.['reason'] as string | undefined,
    problem: (settled ?? refused)?.['problem'] as string | undefined,
    ms,
    bytes: typeof settled?.['bytes'] === 'number' ? settled['bytes'] : undefined,
    run: inOrder[0] === undefined ? undefined : runOf(inOrder[0].tag),
    runs: inOrder.some(({ what }) => what === 'run') || undefined,
  };
  return {
    tag: inOrder[0]?.tag ?? '',
    at: inOrder[0]?.at ?? 0,
    method: text('method') ?? '',
    processes: [...new Set(inOrder.map(({ process }) => process))],
    ...Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)),
  };
}

/** The tag of the call that has made a call; undefined for one that a client has made. */
function runOf(tag: string): string | undefined {
  return /^(.+)-\d+$/.exec(tag)?.[1];
}

/** The end of a call that ran before it was watched, in the form of `settled`. */
function endOfStanding(events: readonly TapEvent[]): TapEvent | undefined {
  const end = events.some(({ what }) => what === 'standing')
    ? events.findLast(({ what }) => what === 'server-answered')
    : undefined;
  return end === undefined ? undefined : { ...end, outcome: ofBackend[String(end['answer'])] };
}

/** The present state of a call, by its last event about it. @param events in their order. */
function stateOf(events: readonly TapEvent[], isOver: boolean): CallState {
  if (isOver) return 'ended';
  let state: CallState = 'running';
  let isRouted = false;
  let isParked = false;
  let asked = 0;
  for (const { what, from, waits } of events) {
    if (what === 'routed' || what === 'written') state = 'running';
    if (what === 'routed' || what === 'standing') isRouted = true;
    if (what === 'parked') isParked = true;
    if (what === 'approval-asked') state = 'approval';
    else if (what === 'queued' || (what === 'standing' && waits === 'place')) state = 'queued';
    else if (what === 'asked') asked += 1;
    else if (what === 'client-answered' || what === 'withdrawn') asked = Math.max(0, asked - 1);
    // The answer to the first request of a call over several rounds is not its end. A client that has gone ends what no server works on.
    else if (from === 'edge' && (what === 'answered' ? !isParked : what === 'gone' && !isRouted)) return 'ended';
  }
  return asked > 0 ? 'asked' : state;
}

function progressOf(events: readonly TapEvent[]): Call['progress'] {
  const said = events.findLast(({ what }) => what === 'server-progress');
  const [progress, total] = [said?.['progress'], said?.['total']];
  return typeof progress === 'number' ? { done: progress, ...(typeof total === 'number' ? { total } : {}) } : undefined;
}

/**
 * Adds an event to those of its call. Only the latest progress stays, so that a long call does not use up the room.
 * @param most bound on stored events; further ones are dropped, except for those that end a call.
 */
export function addEvent(events: TapEvent[], event: TapEvent, most: number): void {
  if (event.what === 'server-progress') {
    const known = events.findLastIndex(({ what }) => what === 'server-progress');
    if (known !== -1) events.splice(known, 1);
  }
  const isEnd = event.what === 'settled' || event.what === 'server-answered' || event.from === 'edge';
  if (events.length < most || (isEnd && events.length < most + maxEnds)) events.push(event);
}

/** Room beyond the bound for events that end a call: a call without its end would seem to run without end. */
const maxEnds = 10;

/** Marks of a changed payload: types in place of values, and values that were hidden or cut. */
const notSent = /•••|…|"(string|list)\(\d+\)"|\(\d+ characters\)|"(object|number|boolean|null)"/;

/** The arguments of a call as JSON; undefined unless their values were watched, and none of them was hidden or cut. */
export function sentArguments(events: readonly TapEvent[]): string | undefined {
  const payload = events.find(({ what }) => what === 'routed')?.['payload'];
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return undefined;
  const text = JSON.stringify(payload);
  return notSent.test(text) ? undefined : text;
}
