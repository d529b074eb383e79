/** Traces of calls; undefined if neither the configuration nor the environment wants them. */
import { proxyEnvironment } from '@omnibus/lifecycle';
import { openTracing, type Tracing } from '@omnibus/telemetry';
import type { Part } from '../part.ts';

export const traces: Part<Tracing | undefined> = {
  name: 'the traces',
  async start({ config, options: { role } }) {
    const tracing = await openTracing({ ...config.tracing, role, proxyEnv: proxyEnvironment() }, process.env);
    return { offers: tracing, stop: async () => tracing?.stop() };
  },
};
