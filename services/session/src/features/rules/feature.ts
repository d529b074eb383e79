/** The access rules, the limits of credentials, and the guardrails that a request meets. */
import type { Proofs } from '@omnibus/identity';
import { mayKnowCallers } from '../../call/client-of.ts';
import type { Compiled, FeatureStart, SessionFeature, WorkerParts } from '../../feature.ts';
import { OutsideChecks } from '../guardrails/outside.ts';
import { AccessRules } from './access.ts';
import { CredentialLimits } from './credential-limits.ts';
import { Granted, type Gone } from './granted.ts';

export interface RulesOptions extends WorkerParts {
  readonly proofs: Proofs | undefined;
  /** Calls back with each user that its directory deactivates; left out if blocks cannot be opened. */
  readonly onGone?: ((listener: (user: Gone) => void) => void) | undefined;
}

export function rules(
  { config, bus, wheel, log, metrics, proofs, onGone }: RulesOptions,
  compiled: Compiled,
): SessionFeature {
  let started: FeatureStart | undefined;
  const outside = new OutsideChecks({
    wheel,
    metrics,
    tools: () => (started === undefined ? undefined : { bus, wheel, metrics, ...started }),
  });
  const granted = new Granted({ bus, wheel, log });
  const access = new AccessRules({ log, metrics, proofs, limits: new CredentialLimits(config), outside, granted });
  access.set(config, compiled.policy, compiled.guardrails);
  const mayKnow = mayKnowCallers(config, proofs);
  const rule = ({ policy, guardrails }: Compiled): boolean =>
    mayKnow || policy !== undefined || guardrails !== undefined;
  let isOn = rule(compiled);
  return {
    name: 'rules',
    get isOn() {
      return isOn;
    },
    access,
    start: (parts) => {
      started = parts;
      granted.start(parts.rightsChange);
      onGone?.((user) => void granted.endOf(user));
      return granted.apply(compiled.policy);
    },
    apply: (next, of) => {
      isOn = rule(of);
      void granted.apply(of.policy);
      access.set(next, of.policy, of.guardrails);
    },
    stop: () => {
      granted.stop();
      return outside.stop();
    },
  };
}
