/** The rules and guardrails of a configuration: compiled, and their mistakes. */
export { accessProblems, accessWarnings, compileAccess } from './access.ts';
export { compileGuards } from './guards.ts';
export { guardedRules } from './guarded-rules.ts';
