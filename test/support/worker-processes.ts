/** The processes of a gateway that was started with `serve --workers`. */
import { startGateway, type GatewayUnderTest } from './gateway.ts';
import { omnibusProgram } from './processes.ts';

/** Starts a gateway with workers. Its one part is the supervisor. */
export function startWorkers(
  config: object,
  workers = 2,
  environment: Readonly<Record<string, string>> = {},
): Promise<GatewayUnderTest> {
  return startGateway('embedded', config, environment, omnibusProgram, ['--workers', String(workers)]);
}

/** The workers that have started so far, the latest of each slot last. */
export function workersOf({ edge }: GatewayUnderTest): { readonly slot: number; readonly pid: number }[] {
  return [...edge.output().matchAll(/"worker":"(\d+)-\d+","pid":(\d+)/g)].map(([, slot, pid]) => ({
    slot: Number(slot),
    pid: Number(pid),
  }));
}
