/** Reports calls to operators that watch them, of this process and of others. Without an admin port, no operator can watch. */
import { Tap } from '@omnibus/telemetry';
import type { TapDesk } from '@omnibus/admin/tap-desk';
import type { Part } from '../part.ts';

export const tapping: Part<{ readonly tap: Tap; readonly desk: TapDesk }> = {
  name: 'the tap of calls',
  isIn: ({ options }) => options.isServing,
  async start(host) {
    const { TapDesk: Desk } = await import('@omnibus/admin/tap-desk');
    const { self, wheel, log, metrics } = host;
    const tap: Tap = new Tap({
      process: self,
      clock: wheel,
      say: (to, report) => desk.say(to, report),
      mayPayloads: () => host.config.console.payloads,
      metrics: { watches: metrics.callers.tapWatches, dropped: metrics.callers.tapDropped },
    });
    const desk: TapDesk = new Desk({ process: self, wheel, log, tap });
    return { offers: { tap, desk } };
  },
};
