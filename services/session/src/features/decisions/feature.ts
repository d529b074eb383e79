/** An external decision point (`access.decisions`), which permits calls and entries of lists in addition to the rules. It is asked only about what the rules allow. */
import type { Config } from '@omnibus/config';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Logger, Metrics } from '@omnibus/telemetry';
import { isDeepStrictEqual } from 'node:util';
import type { SessionFeature } from '../../feature.ts';
import { AuthZen } from './authzen.ts';
import { decisionGate, type Decider } from './gate.ts';
import { ListDecisions } from './lists.ts';

export interface DecisionsOptions {
  readonly config: Config;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, 'decisions'>;
}

type Settings = NonNullable<NonNullable<Config['access']>['decisions']>;

/** Two features, since an approval lies between the gates of a call: a call that waited for one is asked about again. */
export function decisions({
  config,
  wheel,
  log,
  metrics,
}: DecisionsOptions): readonly [SessionFeature, SessionFeature] {
  let settings: Settings | undefined;
  let isRecording = false;
  let point: AuthZen | undefined;
  let change = (act: () => void): void => act();
  const counted = counterOf(log, metrics);
  const lists = new ListDecisions({
    point: () => point,
    cacheMs: () => settings?.cache ?? 0,
    batch: () => settings?.batch ?? 1,
    counted,
    change: (act) => change(act),
  });
  const apply = ({ access }: Config): void => {
    isRecording = access?.mode === 'record';
    if (isDeepStrictEqual(settings, access?.decisions)) return;
    settings = access?.decisions;
    point?.stop();
    point = settings === undefined ? undefined : new AuthZen(settings, wheel);
    lists.clear();
  };
  apply(config);
  const decider: Decider = {
    get point() {
      return point;
    },
    get isRecording() {
      return isRecording;
    },
    counted,
  };
  const isOn = (): boolean => point !== undefined;
  return [
    {
      name: 'decisions',
      get isOn() {
        return isOn();
      },
      gates: [decisionGate(decider, false)],
      get listFilter() {
        return isRecording ? undefined : lists;
      },
      changesLists: ({ access }) => !isDeepStrictEqual(settings, access?.decisions),
      start: ({ rightsChange }) => {
        change = rightsChange;
      },
      apply,
      stop: () => point?.stop(),
    },
    again(decider, isOn),
  ];
}

function counterOf(log: Logger, metrics: DecisionsOptions['metrics']): Decider['counted'] {
  return (outcome, problem, about) => {
    metrics.decisions.inc({ about: about === 'lists' ? 'lists' : 'calls', outcome });
    if (problem !== undefined)
      log.warn({ problem, about }, 'the decision point (access.decisions) gave no decision, so it counts as a refusal');
  };
}

function again(decider: Decider, isOn: () => boolean): SessionFeature {
  return {
    name: 'decisions-after-approval',
    get isOn() {
      return isOn();
    },
    gates: [decisionGate(decider, true)],
  };
}
