/** The pools of HTTP connections of the process: one for servers of the operator's own file, and one for each address rule of other servers. */
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { forbiddenHost, lookupUnder, refusal, type AddressRule } from './address-rule.ts';

const connectTimeoutMs = 10_000;
/** No time limits for bodies and headers: each call has a time limit of its own. */
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

/** Checks a literal address, which is never resolved; names are checked when they are resolved (`lookupUnder`). */
function guardedConnector(rule: AddressRule): buildConnector.connector {
  const connect = buildConnector({ timeout: connectTimeoutMs, lookup: lookupUnder(rule) });
  return (options, callback) => {
    const problem = forbiddenHost(options.hostname, rule);
    if (problem === undefined) connect(options, callback);
    else callback(refusal(problem), null);
  };
}
