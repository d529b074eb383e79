/** Loads the NATS client only when it is needed: a gateway of one process starts without it. */
import type { Bus, LedgerDefinition, OnFault } from '../bus.ts';
import type { NatsOptions } from './connect.ts';
import type { NatsExamination } from './examine.ts';
import type { NatsLogin } from './login.ts';
import type { SetUpOptions, SetUpStep } from './setup.ts';

/** @throws {BusError} as `connectNats` does, and `payload-too-large` for a NATS with too small a `max_payload`. */
export async function openNatsBus(options: NatsOptions, onFault: OnFault): Promise<Bus> {
  const { openNatsBus: open } = await import('./bus.ts');
  return open(options, onFault);
}

/** Examines a NATS without changing anything there. @throws {BusError} as `openNatsBus` does. */
export async function examineNats(options: Omit<NatsOptions, 'inboxPrefix'>): Promise<NatsExamination> {
  const { examineNats: examine } = await import('./examine.ts');
  return examine(options);
}

/** Creates and updates the streams of the gateway. @throws {BusError} as `openNatsBus` does. */
export async function setUpNats(
  options: SetUpOptions,
  ledger: LedgerDefinition | undefined,
): Promise<readonly SetUpStep[]> {
  const { setUpNats: setUp } = await import('./setup.ts');
  return setUp(options, ledger);
}

/** Finds a login that cannot be right, without connecting. */
export async function findLoginProblem(servers: string, login: NatsLogin): Promise<string | undefined> {
  const { findLoginProblem: find } = await import('./login.ts');
  return find(servers, login);
}
