/** Sends requests of the process through the proxy of its environment: keys of issuers, webhooks, sinks of the audit, and requests of commands to a gateway. */
import { hasProxy, useProxy } from '@omnibus/lifecycle';

/** @param option `proxy` of the configuration; undefined where the environment decides. */
export async function proxyFetches(option?: string): Promise<void> {
  useProxy(option);
  if (option === undefined && !hasProxy()) return;
  const [{ Agents }, { setGlobalDispatcher }] = await Promise.all([
    import('@omnibus/backend/issuers'),
    import('undici'),
  ]);
  setGlobalDispatcher(new Agents().of(undefined));
}
