/**
 * Results that fit (`results`): a result of a tool over its bound is stored, and the client gets a preview with a link. The transform comes after guardrails
 * and redaction, so what they take out is not stored. Reads are answered by a gate (`gate.ts`).
 */
import { resultBound, resultScheme, tokensOf, type ResultBounds } from '@omnibus/catalog';
import type { Config } from '@omnibus/config';
import {
  isObject,
  ownServer,
  type ExchangeOutcome,
  type JsonObject,
  type ServerName,
  type SourceTool,
} from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { Barrier } from '../../call/barrier.ts';
import type { ResultGate } from '../../call/result-gate.ts';
import { unchanged, type CallTransform } from '../../call/transform.ts';
import type { CallTransformer, ServedClient } from '../../call/transforms.ts';
import type { SessionFeature, WorkerParts } from '../../feature.ts';
import { Sealer } from '../../public-ids/sealer.ts';
import { cutTo, type CutResult, type Stored } from './bounded.ts';
import { resultGate, type ReadingParts } from './gate.ts';
import { ownerOf, ownerOfSession } from './owner.ts';
import { ResultStore } from './store.ts';

export interface ResultsOptions extends WorkerParts {
  readonly barrier: Barrier;
  readonly counts: ResultGate | undefined;
  readonly labelled: ReadingParts['labelled'];
  /** Undefined in one process, whose results end with it. */
  readonly sealer: Sealer | undefined;
}

/** The tool whose result is bounded, and its bound. */
interface Bounded {
  readonly server: ServerName;
  readonly tool: string;
  readonly maxTokens: number;
  readonly bounds: ResultBounds;
  readonly owner: string;
  /** See `StoredResult`. */
  readonly from?: readonly SourceTool[];
}

export function results(parts: ResultsOptions): {
  /** First of all features: a stored result is read at no server. */
  readonly reads: SessionFeature;
  /** After those that take something out of results. */
  readonly bounds: SessionFeature;
} {
  const { config, log, metrics, barrier, counts, labelled, sealer = new Sealer() } = parts;
  const { limits } = config;
  const store = new ResultStore(parts);
  let isOn = asksFor(config);
  const cut = cutter(parts, store, sealer);
  const reads: SessionFeature = {
    name: 'stored-results',
    get isOn() {
      return isOn;
    },
    gates: [
      resultGate({
        open: (owner, sealed) => {
          const opened = sealer.open('result', sealed);
          return opened?.startsWith(`${owner}.`) === true ? opened.slice(owner.length + 1) : undefined;
        },
        find: async (owner, id) => store.get(owner, id),
        limits,
        barrier,
        counts,
        labelled,
        metrics,
      }),
    ],
    sessionEnded: (key) => {
      if (isOn)
        store
          .forget(ownerOfSession(key))
          .catch((error: unknown) => log.warn({ problem: String(error) }, 'results of a session could not be removed'));
    },
    stop: () => store.stop(),
  };
  const bounds: SessionFeature = {
    name: 'results',
    get isOn() {
      return isOn;
    },
    transforms: [boundTransformer(cut, log)],
    ownResults: {
      bounded: (client, name, from, result) => {
        const bounded = boundedFor(ownServer, name, client);
        return bounded === undefined
          ? undefined
          : cut({ ...bounded, from }, result).catch((error: unknown) => {
              notCut(log, error);
              return result;
            });
      },
    },
    apply: (changed) => {
      isOn = asksFor(changed);
    },
  };
  return { reads, bounds };
}

type Cut = (bounded: Bounded, result: JsonObject) => Promise<JsonObject>;

/** Cuts results over their bounds, and stores the whole ones. */
function cutter({ config: { limits }, log, metrics }: ResultsOptions, store: ResultStore, sealer: Sealer): Cut {
  const put = async (of: Bounded, cut: CutResult): Promise<Stored> => {
    const { server, tool, owner, bounds, from } = of;
    try {
      const id = await store.put(
        owner,
        { server, tool, ...(from === undefined ? {} : { from }), parts: cut.parts },
        cut.bytes,
        bounds,
      );
      metrics.results.bounded.inc({ outcome: id === undefined ? 'too_large' : 'stored' });
      if (id === undefined)
        return { problem: `it has ${cut.bytes} bytes, and results.maxBytes allows ${bounds.maxBytes}; ask for less` };
      metrics.results.storedBytes.inc(cut.bytes);
      return { uri: resultScheme + sealer.seal('result', `${owner}.${id}`), keepMs: bounds.keepMs };
    } catch (error) {
      metrics.results.bounded.inc({ outcome: 'failed' });
      log.warn({ problem: String(error) }, 'a large result could not be stored');
      return { problem: 'the gateway has no room or cannot reach its store now; ask for less, or try again later' };
    }
  };
  return async (bounded, result) => {
    const cut = cutTo(bounded.maxTokens, result, bounded.bounds.keepsStructured, limits);
    if (cut === undefined) return result;
    const answer = cut.answer(await put(bounded, cut));
    metrics.results.savedTokens.inc(
      Math.max(0, Math.ceil(cut.length / 4) - tokensOf(JSON.stringify(answer['content']))),
    );
    return answer;
  };
}

function notCut(log: Logger, error: unknown): void {
  log.error({ err: error }, 'a large result could not be cut; its client gets all of it');
}

function boundTransformer(cut: Cut, log: Logger): CallTransformer {
  return {
    of({ method }, { server, tool, task }, client) {
      const called = method === 'tools/call' ? tool : task?.tool;
      if (called === undefined || called === '') return undefined;
      const bounded = boundedFor(server, called, client);
      return bounded === undefined
        ? undefined
        : transformBy(
            (result) => cut(bounded, result),
            (error) => notCut(log, error),
          );
    },
  };
}

function asksFor({ results: option, profiles }: Config): boolean {
  return option !== 'off' || Object.values(profiles).some(({ results: own }) => own !== undefined && own !== 'off');
}

function boundedFor(server: ServerName, tool: string, client: ServedClient): Bounded | undefined {
  const bounds = client.isInner === true ? undefined : client.view()?.definition.results;
  if (bounds === undefined) return undefined;
  const maxTokens = resultBound(bounds, server, tool, client.info?.name);
  return maxTokens === undefined ? undefined : { server, tool, maxTokens, bounds, owner: ownerOf(client) };
}

/** @param failed called with a bug of the feature, which must not cost a client its result. */
function transformBy(
  bounded: (result: JsonObject) => Promise<JsonObject>,
  failed: (error: unknown) => void,
): CallTransform {
  return {
    ...unchanged,
    outcome: (given, then) => {
      if (given.kind !== 'result') then(given);
      else
        void resultIn(given, bounded)
          .catch((error: unknown) => {
            failed(error);
            return given;
          })
          .then(then);
    },
  };
}

/** The state of a task has the result of its tool inside (extension io.modelcontextprotocol/tasks). */
async function resultIn(
  given: Extract<ExchangeOutcome, { kind: 'result' }>,
  bounded: (result: JsonObject) => Promise<JsonObject>,
): Promise<ExchangeOutcome> {
  const { result } = given;
  const inner = result['result'];
  if (Array.isArray(result['content']) || result['structuredContent'] !== undefined)
    return { ...given, result: await bounded(result) };
  return isObject(inner) ? { ...given, result: { ...result, result: await bounded(inner) } } : given;
}
