/** The connection to the bus, and its measurements. The start waits for the bus without limit; the admin port says so. */
import type { Bus } from '@omnibus/bus';
import { measureBus } from '../measure.ts';
import { missingStreams, openBus } from '@omnibus/setup/bus';
import type { Part } from '../part.ts';

const lost = 'the bus is not connected';

export const connectedBus: Part<Bus> = {
  name: 'the bus',
  async start(host) {
    const { config, log, wheel, metrics, onFault, addresses } = host;
    const { role, baseFolder, isServing, member } = host.options;
    host.waitsFor = [lost];
    const waiting = (problem: string): void => {
      host.waitsFor = [problem];
      log.warn({ problem, admin: addresses.admin }, 'waiting for the bus');
    };
    const bus =
      member?.openBus(onFault) ??
      (await openBus(config, {
        role: role === 'supervisor' ? 'all' : role,
        baseFolder,
        onFault,
        waiting,
        isServing,
      }));
    host.waitsFor = [];
    const stopMeasuring = measureBus(bus, wheel, metrics);
    return {
      offers: bus,
      notReady: () => [...(bus.connected ? [] : [lost]), ...missingStreams(bus), ...(member?.notReady() ?? [])],
      async stop() {
        stopMeasuring();
        await bus.drain();
      },
    };
  },
};
