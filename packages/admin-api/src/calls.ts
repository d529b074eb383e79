/** Assembles the events of one tag into a call. */
import type { Call, Outcome, TapEvent } from './traffic.ts';

/** Assembles a call; of a member that several events have, the first one counts. */
export function callOf(events: readonly TapEvent[]): Call {
  const inOrder = events.toSorted((one, other) => one.at - other.at);
  const text = (name: string): string | undefined => {
    const found = inOrder.find((event) => typeof event[name] === 'string' && event[name] !== '');
    return found?.[name] as string | undefined;
  };
  const settled = inOrder.findLast(({ what }) => what === 'settled');
  const refused = inOrder.find(({ what }) => what === 'refused');
  const answered = inOrder.findLast(({ what, from }) => from === 'edge' && (what === 'answered' || what === 'gone'));
  const ms = [answered?.['ms'], settled?.['ms']].find((each) => typeof each === 'number');
  const outcome = (settled?.['outcome'] ?? (refused === undefined ? undefined : 'fault')) as Outcome | undefined;
  const members = {
    name: text('name'), server: text('server'), tool: text('tool'), endpoint: text('endpoint'), client: text('client'), session: text('session'), principal: text('principal'),
    outcome, reason: (settled ?? refused)?.['reason'] as string | undefined, problem: (settled ?? refused)?.['problem'] as string | undefined, ms,
  };
  return {
    tag: inOrder[0]?.tag ?? '', at: inOrder[0]?.at ?? 0, method: text('method') ?? '', processes: [...new Set(inOrder.map(({ process }) => process))],
    ...Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)),
  };
}
