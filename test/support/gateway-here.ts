/**
 * The gateway in the test's own process, in both shapes: each role on its own, over a real NATS. It costs half the processor time of three processes. It is for
 * tests that neither kill, stop or signal a process of the gateway, nor look at its memory, its environment or its end.
 */
import { createRequire, enableCompileCache } from 'node:module';
import { dirname, join } from 'node:path';
import type { serveHere, ServedHere } from '@omnibus/gateway/serve-here';
import { anyPort, gatewayOf, variablesOf, type GatewayOf, type Shape } from './gateway.ts';
import { Lines, omnibusProgram, type Printing } from './processes.ts';

/** A role of a gateway in this process. */
interface PartHere extends Printing, AsyncDisposable {
  /** Resolves when all that it has sent on the bus, or was sent before, has arrived. */
  arrived(): Promise<void>;
  /** Ends it in order. */
  stop(): Promise<void>;
}

export type GatewayHere = GatewayOf<PartHere>;

/** The program that processes run is loaded here too: the bundle that `npm test` has made, or what was built. */
function loaded(): { readonly serveHere: typeof serveHere } {
  enableCompileCache(process.env['NODE_COMPILE_CACHE']);
  // Node loads it, and not the test runner, which would transform each file.
  return createRequire(import.meta.url)(join(dirname(omnibusProgram), '../dist/serve-here.js')) as ReturnType<
    typeof loaded
  >;
}

/**
 * Starts a gateway of one process that cannot start, in this process.
 * @throws {Error} in the words that `omnibus serve` prints before it ends.
 */
export async function serveOnce(options: {
  readonly config: string;
  readonly listen?: string;
  readonly admin?: string;
}): Promise<void> {
  const served = await loaded().serveHere(
    { role: 'all', listen: anyPort, admin: anyPort, bus: undefined, input: false, ...options },
    { env: process.env, log: { write: () => undefined }, print: () => undefined, showPage: () => false },
  );
  await served.stop();
}

/**
 * Starts a gateway in this process.
 * @param config the configuration file, without addresses, log and bus.
 * @param environment variables for references of the configuration. The process has them not: a program that a server is inherits none.
 */
export function startGatewayHere(
  shape: Shape,
  config: object,
  environment: Readonly<Record<string, string>> = {},
): Promise<GatewayHere> {
  const { serveHere: serve } = loaded();
  return gatewayOf(shape, config, ({ configFile, role, bus }) => {
    const lines = new Lines(`the role ${role ?? 'all'} in this process`);
    const print = (text: string): void => {
      for (const line of text.split('\n')) lines.add(line);
    };
    const served: Promise<ServedHere | undefined> = serve(
      { config: configFile, role: role ?? 'all', listen: anyPort, admin: anyPort, bus, input: false },
      {
        env: { ...process.env, ...variablesOf(role, environment) },
        log: { write: (line) => print(line.trimEnd()) },
        print,
        showPage(server, address) {
          print(`omnibus: the server ${server} wants you to sign in: open ${address}`);
          return false;
        },
      },
    ).catch((error: unknown) => {
      print(`omnibus: ${(error as Error).message}`);
      lines.end();
      return undefined;
    });
    let stopping: Promise<void> | undefined;
    const stop = (): Promise<void> =>
      (stopping ??= served.then(async (running) => {
        await running?.stop();
        lines.end();
      }));
    return {
      output: () => lines.output(),
      line: (pattern) => lines.line(pattern),
      arrived: async () => (await served)?.arrived(),
      stop,
      async [Symbol.asyncDispose]() {
        await stop();
        lines.failOnUncaught();
      },
    };
  });
}
