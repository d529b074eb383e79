/** Makes the backend with its features, and shows administrators what these keep. */
import { resolve } from 'node:path';
import type { Tap, Tracing } from '@omnibus/telemetry';
import { Backend as Spine, type BackendOptions as SpineOptions } from './backend.ts';
import { Accounts, type UserOptions } from './features/credentials/accounts.ts';
import {
  AllDefinitions,
  type AllDefinitionsOptions,
  type ServerDefinitions,
} from './features/definitions/all-definitions.ts';
import { serverFeatures } from './features/index.ts';
import { openApiServers } from './features/openapi/feature.ts';
import { shaping } from './features/shaping/feature.ts';
import { attaching } from './features/takeover/feature.ts';
import { SeenExchanges } from './features/takeover/seen-exchanges.ts';

export { suspicionsOf } from './features/definitions/suspicions.ts';
export type { ServerDefinitions, UserOptions };

export interface BackendOptions
  extends Omit<SpineOptions, 'features'>, Pick<AllDefinitionsOptions, 'definitionChanged'> {
  readonly tracing: Tracing | undefined;
  readonly users: UserOptions;
  /** Reports calls to watchers; left out where nobody can watch. */
  readonly tap?: Tap | undefined;
}

export class Backend extends Spine {
  readonly #definitions: AllDefinitions;

  constructor(options: BackendOptions) {
    const { tracing, tap, baseFolder, config, bus, wheel, metrics } = options;
    const seen = bus.isShared ? new SeenExchanges(wheel, config.limits) : undefined;
    if (seen !== undefined) metrics.beforeScrape(() => metrics.keptAnswerBytes.set(seen.bytes));
    const definitions = new AllDefinitions({ ...options, file: resolve(baseFolder, config.security.definitionsFile) });
    super({
      ...options,
      features: {
        ofProcess: (parts) => [
          ...(seen === undefined ? [] : [attaching({ ...parts, seen, bus, wheel })]),
          new Accounts({ ...options, ...parts }),
          definitions,
          shaping(),
          openApiServers({ ...options, ...parts }),
        ],
        ofServer: (of, parts) => serverFeatures({ tracing, tap, ...of }, parts, seen),
      },
    });
    this.#definitions = definitions;
  }

  /** Definitions of servers that differ from the approved ones. */
  get definitions(): readonly ServerDefinitions[] {
    return this.#definitions.shown;
  }

  /** Approves definitions of a server as they are now, by their digests. */
  approve(server: string, digests: ReadonlySet<string>): Promise<void> {
    return this.#definitions.approve(server, digests);
  }
}

export function createBackend(options: BackendOptions): Backend {
  return new Backend(options);
}
