/** Rules in words: what callers may do by a configuration, and why. */
export { decide, explain, factsOf, hintsOf, loadPolicy, openPolicy } from './decisions.ts';
export type { Decided, LoadedPolicy } from './decisions.ts';
export { conditionsOf, grantWords, termsOf } from './rule-words.ts';
export { momentProblem, partsOf, person, personProblem, targetOf, targetProblem, whoText } from './words.ts';
export type { Person, PersonParts } from './words.ts';
