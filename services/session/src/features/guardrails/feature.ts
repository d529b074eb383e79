/** Guardrails, and what rules redact: the screen of a call, which the rules give to its permission, looks at its messages. */
import type { SessionFeature, Compiled } from '../../feature.ts';
import { guardrailGate } from './request-gate.ts';

export function guardrails(compiled: Compiled): SessionFeature {
  let isOn = hasScreens(compiled);
  return {
    name: 'guardrails',
    get isOn() {
      return isOn;
    },
    gates: [guardrailGate],
    transforms: [{ of: ({ screen }) => screen }],
    apply: (_config, next) => {
      isOn = hasScreens(next);
    },
  };
}

function hasScreens({ policy, guardrails: all }: Compiled): boolean {
  return policy !== undefined || all !== undefined;
}
