/** The features of a session worker. */
import type { Audit } from '@omnibus/audit';
import type { Proofs } from '@omnibus/identity';
import type { Guardrails, Policy } from '@omnibus/policy';
import type { WorkerId } from '@omnibus/protocol';
import type { Failures, Tap, Tracing } from '@omnibus/telemetry';
import { noBarrier } from '../call/barrier.ts';
import type { SessionFeature, WorkerParts } from '../feature.ts';
import type { Sealer } from '../public-ids/sealer.ts';
import { openApprovals } from './approvals/feature.ts';
import { audit } from './audit/feature.ts';
import { labelRecords } from './audit/labels.ts';
import { openBlocks } from './blocks/feature.ts';
import { code } from './code/feature.ts';
import { decisions } from './decisions/feature.ts';
import { composites } from './composites/feature.ts';
import { flow } from './flow/feature.ts';
import { guardrails } from './guardrails/feature.ts';
import { openLimits } from './limits/feature.ts';
import { listing } from './listing/feature.ts';
import { results } from './results/feature.ts';
import { reports } from './reports/feature.ts';
import { resultSize } from './result-size/feature.ts';
import { rules } from './rules/feature.ts';
import { takeover } from './takeover/feature.ts';
import { traces } from './traces/feature.ts';

export interface FeatureOptions extends WorkerParts {
  readonly tracing: Tracing | undefined;
  /** Verifies the edges' signatures of callers' identities; undefined in a gateway of one process, where nothing else is on the bus. */
  readonly proofs?: Proofs | undefined;
  /** The compiled rules of `access`; left out where there are none. */
  readonly policy?: Policy | undefined;
  /** The guardrails, compiled; left out where there are none. */
  readonly guardrails?: Guardrails | undefined;
  /** Undefined where no audit is configured. */
  readonly audit?: Audit | undefined;
  /** Reports calls to those that watch them; left out where nothing can be watched. */
  readonly tap?: Tap | undefined;
  readonly failures?: Failures | undefined;
  /** Seals ids for clients; undefined in one process, which makes one. */
  readonly sealer?: Sealer | undefined;
}

/** The parts of its worker that a feature needs. */
export interface FeatureWorker {
  readonly worker: WorkerId;
  /** The number of session workers. */
  readonly workers: () => number;
}

/** The list of features. Its order is that of gates, of transforms and of watchers. */
export async function sessionFeatures(options: FeatureOptions, of: FeatureWorker): Promise<readonly SessionFeature[]> {
  const { config, bus, wheel, log, metrics, proofs, policy, guardrails: compiled } = options;
  const parts = { config, bus, wheel, log, metrics, proofs };
  const [decided, decidedAgain] = decisions(parts);
  const blocks = await openBlocks(bus, log);
  const guards = guardrails({ policy, guardrails: compiled });
  const barrier = blocks?.barrier ?? noBarrier;
  const ruled = rules({ ...parts, onGone: blocks?.onGone }, { policy, guardrails: compiled });
  const recorded = options.audit === undefined ? undefined : labelRecords(options.audit, proofs);
  const labelled: typeof recorded = (client, conversation, added) => {
    metrics.labelled(added);
    recorded?.(client, conversation, added);
  };
  const labels = flow({ ...parts, labelled }, { policy, guardrails: compiled }, ruled.access);
  const [onceMore] = blocks?.gates ?? guards.gates ?? [];
  const limits = await openLimits({ ...parts, ...of, barrier, onceMore });
  const composed = composites(config, metrics);
  const stored = results({
    ...parts,
    barrier,
    counts: limits.resultGate,
    labelled: labels.stored,
    sealer: options.sealer,
  });
  return [
    stored.reads,
    // Before the others, since a call that was begun has passed the gates before.
    ...(bus.isShared ? [takeover({ bus, wheel, owner: of.worker })] : []),
    ruled,
    labels.reads,
    guards,
    labels.adds,
    ...(blocks === undefined ? [] : [blocks]),
    decided,
    openApprovals({ ...parts, limits: config.limits, worker: of.worker }, policy),
    decidedAgain,
    limits,
    resultSize(config),
    stored.bounds,
    listing(parts),
    code(config, metrics, composed.ownTools, of.worker),
    composed,
    ...(options.tracing === undefined ? [] : [traces(options.tracing)]),
    ...(options.audit === undefined ? [] : [audit(options.audit, parts)]),
    ...reports(options),
  ];
}
