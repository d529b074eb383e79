/** Questions about sign-ins of users, which any backend worker answers. */
import type { ConnectCommand, ConnectReply } from '@omnibus/protocol';
import type { Bus } from './bus.ts';
import { subjects } from './subjects.ts';

const answerMs = 30_000;

/** Asks one backend worker. @returns `failed` where none answers in time, or there is none. */
export function askBackends(bus: Bus, command: ConnectCommand): Promise<ConnectReply> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      clearTimeout(limit);
      pending.close();
      settle();
    };
    const limit = setTimeout(
      () => end(() => resolve({ kind: 'failed', problem: 'no process of the role backend has answered; try again' })),
      answerMs,
    );
    const pending = bus.request(subjects.connect, command, {
      reply: (reply) => end(() => resolve(reply)),
      failed: (error) =>
        end(() =>
          error.kind === 'no-responders'
            ? resolve({
                kind: 'failed',
                problem:
                  'no process of the gateway takes sign-ins: no connected server has credentials: { kind: oauth }, or no process of the role backend runs',
              })
            : reject(error),
        ),
    });
  });
}
