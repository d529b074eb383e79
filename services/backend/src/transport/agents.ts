/** The connections of the process over HTTP: one pool for servers of the operator's own file, one for each rule of others'. */
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { forbiddenHost, lookupUnder, refusal, type AddressRule } from './address-rule.ts';

const connectTimeoutMs = 10_000;
/** Each call has a time limit of its own, so an HTTP connection has one for connecting only. */
const shared = { bodyTimeout: 0, headersTimeout: 0 };

export class Agents {
  readonly #free = new Agent({ ...shared, connect: { timeout: connectTimeoutMs } });
  /** Pools by their address rule, written as JSON. */
  readonly #guarded = new Map<string, Agent>();

  /** @param rule undefined where any address is allowed. */
  of(rule: AddressRule | undefined): Dispatcher {
    if (rule === undefined) return this.#free;
    const key = JSON.stringify(rule);
    const known = this.#guarded.get(key);
    if (known !== undefined) return known;
    const agent = new Agent({ ...shared, connect: guardedConnector(rule) });
    this.#guarded.set(key, agent);
    return agent;
  }

  async destroy(): Promise<void> {
    await Promise.all([this.#free, ...this.#guarded.values()].map((agent) => agent.destroy()));
  }
}

/** A name is judged when it is resolved (`lookupUnder`); a literal address is never resolved, so it is judged here. */
function guardedConnector(rule: AddressRule): buildConnector.connector {
  const connect = buildConnector({ timeout: connectTimeoutMs, lookup: lookupUnder(rule) });
  return (options, callback) => {
    const problem = forbiddenHost(options.hostname, rule);
    if (problem === undefined) connect(options, callback);
    else callback(refusal(problem), null);
  };
}
