/** Composes a process of parts: starts them in order, applies configurations, and stops them in reverse order. It knows no part. */
import type { Config } from '@omnibus/config';
import { PartHost, type Part, type ProcessOptions } from './part.ts';

/** A process with started parts. */
export interface Composed {
  readonly host: PartHost;
  /** Applies a configuration; if a part rejects it, no part applies it. @throws {Error} in words for the operator. */
  readonly apply: (config: Config) => Promise<void>;
  /** Stops all parts, even if one of them fails. Never rejects. */
  readonly stop: () => Promise<void>;
}

/**
 * Starts the parts that the process of these options has, one after the other.
 * @throws {Error} in words for the operator, which names the part that failed. The parts before it are stopped.
 */
export async function compose(options: ProcessOptions, parts: readonly Part[]): Promise<Composed> {
  const host = new PartHost(options);
  try {
    for (const part of parts) if (part.isIn?.(host) !== false) await host.start(part);
  } catch (error) {
    await stopAll(host);
    throw error;
  }
  host.state = 'serving';
  return { host, apply: (config) => applyTo(host, config), stop: () => stopAll(host) };
}

async function applyTo(host: PartHost, config: Config): Promise<void> {
  const steps = [];
  for (const { prepare } of host.started) steps.push(await prepare?.(config));
  host.config = config;
  // All begin at once: a changed rule does not wait until a server that was removed has let go of its calls.
  await Promise.all(steps.map(async (step) => step?.()));
}

async function stopAll(host: PartHost): Promise<void> {
  host.state = 'stopping';
  const started = host.started.toReversed();
  for (const { leave } of started) await attempt(host, leave);
  for (const { stop } of started) await attempt(host, stop);
}

/** A part that fails to stop keeps no other from stopping. */
async function attempt(host: PartHost, work: (() => void | Promise<void>) | undefined): Promise<void> {
  try {
    await work?.();
  } catch (error) {
    host.log.error({ err: error }, 'a part of the process could not be stopped');
  }
}
