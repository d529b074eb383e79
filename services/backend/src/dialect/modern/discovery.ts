/**
 * Finds out which era a server speaks: its answer to `server/discover` decides (2026-07-28 basic/versioning, Compatibility). Only the error
 * codes of that revision prove anything; a network failure never does.
 */
import {
  isLegacyRevision,
  isModernRevision,
  isObject,
  latestModernRevision,
  printable,
  type JsonObject,
  type JsonRpcErrorObject,
  type ServerIntroduction,
  type ServerTrouble,
} from '@omnibus/protocol';
import { troubleOfStatus } from '../../transport/trouble.ts';
import { namedRevisions } from '../legacy/handshake.ts';

export type Verdict =
  | { readonly kind: 'modern'; readonly introduction: ServerIntroduction }
  | { readonly kind: 'legacy' }
  /** The server requires a revision that it names and that we speak. */
  | { readonly kind: 'again' }
  /** Nothing was learned, or there is no common revision. `mayBeLegacy`: the server reacted, so `initialize` is worth a try. */
  | {
      readonly kind: 'unknown';
      readonly problem: string;
      readonly trouble: ServerTrouble;
      readonly mayBeLegacy: boolean;
    };

const legacy: Verdict = { kind: 'legacy' };

export function readDiscovery(result: JsonObject): Verdict {
  const { supportedVersions, capabilities, instructions } = result;
  if (!Array.isArray(supportedVersions) || !isObject(capabilities)) return legacy;
  if (!supportedVersions.some(isModernRevision)) {
    return supportedVersions.some(isLegacyRevision)
      ? legacy
      : { kind: 'unknown', problem: noCommonRevision(supportedVersions), trouble: 'speech', mayBeLegacy: false };
  }
  return {
    kind: 'modern',
    introduction: {
      revision: latestModernRevision,
      capabilities,
      instructions: typeof instructions === 'string' ? instructions : undefined,
    },
  };
}

export function readDiscoveryError(error: JsonRpcErrorObject): Verdict {
  const supported = namedRevisions(error);
  if (supported === undefined) return legacy;
  if (supported.some(isModernRevision)) return { kind: 'again' };
  const isNewer = supported.some((revision) => typeof revision === 'string' && revision >= latestModernRevision);
  return isNewer
    ? { kind: 'unknown', problem: noCommonRevision(supported), trouble: 'speech', mayBeLegacy: false }
    : legacy;
}

/** A server may name anything as its revisions; an object with a `toString` of its own would break a template. */
function noCommonRevision(supported: readonly unknown[]): string {
  const names = supported.filter((revision) => typeof revision === 'string').slice(0, maxNamed);
  return `the server speaks ${printable(names.join(', ') || 'nothing that is the name of a revision')}, none of which this gateway does`;
}

/** Number of a server's revisions that a problem shows. */
const maxNamed = 10;

/** @param httpStatus of a refusal without a JSON-RPC error. */
export function readRefusal(httpStatus: number, problem: string): Verdict {
  if (httpStatus === 401) return { kind: 'unknown', problem, trouble: troubleOfStatus(httpStatus), mayBeLegacy: false };
  // Some old servers crash over a request that they do not expect, and some firewalls in front of them forbid the methods that they do not know.
  return httpStatus >= 500 || httpStatus === 403
    ? { kind: 'unknown', problem, trouble: troubleOfStatus(httpStatus), mayBeLegacy: true }
    : legacy;
}

/** After this time the gateway probes the server again, since it may have been upgraded to the newer revision. */
const legacyVerdictMs = 60 * 60_000;

/** The known era of one server, with the time when it was found. */
export class Era {
  readonly #pinned: 'legacy' | 'modern' | undefined;
  #known: 'legacy' | 'modern' | undefined;
  #knownAt = 0;
  readonly #now: () => number;

  /** @param now monotonic milliseconds. */
  constructor(setting: 'auto' | 'legacy' | 'modern', now: () => number = () => performance.now()) {
    this.#now = now;
    this.#pinned = setting === 'auto' ? undefined : setting;
  }

  /** Whether the configuration sets the era. */
  get isPinned(): boolean {
    return this.#pinned !== undefined;
  }

  get current(): 'legacy' | 'modern' | undefined {
    if (this.#pinned !== undefined) return this.#pinned;
    return this.#known === 'legacy' && this.#now() - this.#knownAt > legacyVerdictMs ? undefined : this.#known;
  }

  learn(era: 'legacy' | 'modern'): void {
    this.#known = era;
    this.#knownAt = this.#now();
  }

  /** Makes the next connection ask again. */
  forget(): void {
    this.#known = undefined;
  }
}
