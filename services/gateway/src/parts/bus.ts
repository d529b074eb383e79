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
    const { role, baseFolder, isServing } = host.options;
    host.waitsFor = [lost];
    const waiting = (problem: string): void => {
      host.waitsFor = [problem];
      log.warn({ problem, admin: addresses.admin }, 'waiting for the bus');
    };
    const bus = await openBus(config, { role, baseFolder, onFault, waiting, isServing });
    host.waitsFor = [];
    const stopMeasuring = measureBus(bus, wheel, metrics);
    return {
      offers: bus,
      notReady: () => [...(bus.connected ? [] : [lost]), ...missingStreams(bus)],
      async stop() {
        stopMeasuring();
        await bus.drain();
      },
    };
  },
};
