export { patternNames } from './redaction/patterns.ts';
export { agentClients, matchesWho, namesAgents } from './who.ts';
export type { Who, WhoFacts, WhoParts, WhoTest } from './who.ts';
export { compile, Policy } from './policy.ts';
export { grantsIn, holding } from './grants.ts';
export type { GrantTerms } from './grants.ts';
export type { Compiled } from './policy.ts';
export type { Decision, Rights } from './rights.ts';
export { usesLabels } from './rights.ts';
export type { Circumstances } from './conditions.ts';
export { rightsToOnly } from './only.ts';
export { Redaction } from './redaction/redaction.ts';
export { compileGuardrails, Guardrails } from './guardrails/guardrails.ts';
export type { GuardrailsOf, SchemaProblem } from './guardrails/guardrails.ts';
export type { Guardrail, OutsideCheck } from './guardrails/guardrail.ts';
export type { GuardrailSettings, Stage, WebhookSettings } from './guardrails/settings.ts';
export { effectOf, selectorsOf } from './rule.ts';
export type { AskTerms, Rule, Target } from './rule.ts';
export { hints } from './settings.ts';
export { hintsVerdict } from './hints.ts';
export type {
  AccessSettings,
  ArgumentSettings,
  GrantSettings,
  Hint,
  RuleProblem,
  RuleSettings,
  TimeSettings,
} from './settings.ts';
export { compileSelector, coversForms } from './selector.ts';
export type { Selector, TargetKind } from './selector.ts';
export { WantedScopes } from './wanted-scopes.ts';
export type { ScopeSettings } from './wanted-scopes.ts';
