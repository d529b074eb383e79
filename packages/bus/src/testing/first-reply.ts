import type { Bus } from '../bus.ts';
import type { Subject } from '../subject.ts';

export function firstReply<Request, Reply>(bus: Bus, to: Subject<Request, Reply>, request: Request): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const pending = bus.request(to, request, {
      reply: (answer) => {
        pending.close();
        resolve(answer);
      },
      failed: reject,
    });
  });
}
