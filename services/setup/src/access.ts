/** Compiles the access rules of a configuration, and reports rules that are wrong or can have no effect. */
import { enabledServers, formatProblem, hasTrustedHints, type Config, type ProblemAt } from '@omnibus/config';
import { compile, compileSelector, grantsIn, selectorsOf, type Policy, type RuleProblem } from '@omnibus/policy';
import { claimIn, selectorProblem } from '@omnibus/protocol';
import { guardedRules } from './guarded-rules.ts';
import { isForApprovers } from './issuer-warnings.ts';
import { ruleWarnings } from './rule-warnings.ts';
import { guardrailProblems, guardrailWarnings } from './guards.ts';

/** Compiles the rules under `access`. @returns undefined where there are none. @throws {Error} that names, for the operator, each problem and its rule. */
export async function compileAccess(config: Config): Promise<Policy | undefined> {
  const { access } = config;
  const guards = guardedRules(config);
  if (access === undefined && guards.length === 0) return undefined;
  const { default: fallback = 'allow', rules = [] } = access ?? {};
  const compiled = await compile({ ...access, default: fallback, rules: [...rules, ...guards] });
  if ('policy' in compiled) return compiled.policy;
  throw new Error(compiled.problems.map(({ path, message }) => `access.${path.join('.')}: ${message}`).join('\n'));
}

/** Errors in the rules under `access` and in guardrails, each with its place in the configuration file. */
export async function accessProblems(config: Config, problemAt: ProblemAt): Promise<readonly string[]> {
  const { access } = config;
  const others = [
    ...stepUpProblems(config).map(({ path, message }) => formatProblem(problemAt(path, message))),
    ...(await guardrailProblems(config, problemAt)),
  ];
  if (access === undefined) return others;
  const compiled = await compile(access);
  const problems = 'problems' in compiled ? [...compiled.problems] : [];
  for (const [index, rule] of access.rules.entries()) {
    if (rule.allow === undefined || rule.only === undefined) continue;
    const about = enabledServerNames(config).filter((server) =>
      selectorsOf(rule).some(({ mayCover }) => mayCover(server)),
    );
    if (about.length > 0 && about.every((server) => !isTrusted(config, server))) {
      problems.push({
        path: ['rules', index, 'only'],
        message: `nobody vouches for what tools of ${about.join(', ')} say of themselves, so this allows nothing; set \`hints: believe\` at the server if you do`,
      });
    }
  }
  return [...problems.map(({ path, message }) => formatProblem(problemAt(['access', ...path], message))), ...others];
}

/** Whether rules may rely on annotations of the server's tools. */
function isTrusted({ mcpServers }: Config, server: string): boolean {
  const settings = mcpServers[server];
  return settings !== undefined && hasTrustedHints(settings);
}

/** Errors in the patterns of `auth.stepUp`, which are written like those of rules. */
function stepUpProblems({ auth }: Config): readonly RuleProblem[] {
  return auth === undefined || auth === 'none'
    ? []
    : auth.stepUp.flatMap(({ for: what }, index) =>
        what.flatMap((text, at) => {
          const message = selectorProblem(text);
          return message === undefined
            ? []
            : [{ path: ['auth', 'stepUp', index, 'for', at], message: `${JSON.stringify(text)}: ${message}` }];
        }),
      );
}

type Rule = NonNullable<Config['access']>['rules'][number];

/** Warnings about rules and guardrails that are valid, but probably mistaken. */
export function accessWarnings(config: Config): readonly string[] {
  const { access, auth } = config;
  const others = [...limitWarnings(config), ...guardrailWarnings(config)];
  if (access === undefined) return others;
  const ofRules = access.rules.flatMap((rule, index) => warningsOfRule(config, rule, index));
  const isOpen = auth === undefined || auth === 'none' || auth.admin === undefined;
  const unheld = access.rules.flatMap((rule, index) =>
    isOpen && isForApprovers(rule)
      ? [
          `rule ${JSON.stringify(rule.id ?? `#${index + 1}`)} stops no program of this machine: without \`auth.admin\`, whoever reaches the admin port may approve, also the program that calls`,
        ]
      : [],
  );
  const hasRoles =
    auth !== undefined &&
    auth !== 'none' &&
    auth.admin !== undefined &&
    [auth.admin.roles.approver, auth.admin.roles.operator, auth.admin.roles.admin].some((list) => list.length > 0);
  const unasked =
    access.approvals.clients && !hasRoles
      ? ['access.approvals.clients asks nobody: nobody has the role approver, operator or admin (auth.admin.roles)']
      : [];
  return [...ofRules, ...unheld, ...unasked, ...grantWarnings(access), ...others];
}

/** Warnings about grants that give nothing. */
function grantWarnings({ grants, rules }: NonNullable<Config['access']>): readonly string[] {
  const used = new Set(rules.flatMap(({ who, except }) => [...grantsIn(who), ...grantsIn(except ?? [])]));
  return grants
    .filter(({ id, group }) => group === undefined && !used.has(id))
    .map(({ id }) => `grant ${JSON.stringify(id)} gives nothing: name a \`group\`, or a rule with who: "grant:${id}"`);
}

/** @param index of the rule in the configuration, which names a rule without an id. */
function warningsOfRule(config: Config, rule: Rule, index: number): readonly string[] {
  const { auth } = config;
  const servers = enabledServerNames(config);
  const issuers = auth === undefined || auth === 'none' ? [] : auth.issuers;
  const haveTenants = issuers.some(({ tenant }) => tenant !== undefined);
  const isDiscovering = config.discovery.kubernetes.enabled;
  const name = `rule ${JSON.stringify(rule.id ?? `#${index + 1}`)}`;
  const unmatched = isDiscovering
    ? []
    : selectorsOf(rule)
        .filter(({ mayCover }) => !servers.some((server) => mayCover(server)))
        .map(({ text }) => JSON.stringify(text));
  const unbelieved =
    rule.only === undefined
      ? []
      : servers.filter(
          (server) => !isTrusted(config, server) && selectorsOf(rule).some(({ mayCover }) => mayCover(server)),
        );
  const isGroupAlone = [rule.who]
    .flat()
    .some((who) =>
      typeof who === 'string' ? who.startsWith('group:') : who.group !== undefined && who.tenant === undefined,
    );
  return [
    ...ruleWarnings(name, rule),
    ...claimsNamed(rule)
      .filter((claim) => !issuers.some(({ claims }) => claims.includes(claim)))
      .map(
        (claim) =>
          `${name} names the claim ${JSON.stringify(claim)}, which no issuer passes on; add it to \`claims\` of its issuer`,
      ),
    ...(unmatched.length === 0 ? [] : [`${name} can never match ${unmatched.join(', ')}: there is no such server`]),
    ...(unbelieved.length === 0
      ? []
      : [
          `${name} goes by what tools say of themselves, which counts ${rule.allow === undefined ? 'against' : 'for nothing at'} ${unbelieved.join(', ')} without \`hints: believe\``,
        ]),
    ...(haveTenants && isGroupAlone
      ? [`${name} names a group without its tenant, and so nobody who has one; write { tenant: ..., group: ... }`]
      : []),
    ...(auth === undefined || auth === 'none'
      ? namesSomebody(rule.who)
        ? [`${name} names callers, and nothing says how they are known (auth)`]
        : []
      : []),
  ];
}

/** Warnings about limits of servers that do not exist. */
function limitWarnings(config: Config): readonly string[] {
  if (config.discovery.kubernetes.enabled) return [];
  const servers = enabledServerNames(config);
  return config.limits.rules.flatMap(({ id, what }, index) => {
    const unmatched = what.filter((text) => !servers.some((server) => compileSelector(text).mayCover(server)));
    return unmatched.length === 0
      ? []
      : [
          `limit ${JSON.stringify(id ?? `#${index + 1}`)} can never match ${unmatched.map((text) => JSON.stringify(text)).join(', ')}: there is no such server`,
        ];
  });
}

/** The names of claims in `who` and `except`. */
function claimsNamed({ who, except }: Pick<Rule, 'who' | 'except'>): readonly string[] {
  const texts = [who, except ?? []]
    .flat()
    .flatMap((each) =>
      typeof each === 'string' ? (each.startsWith('claim:') ? each.slice('claim:'.length) : []) : (each.claim ?? []),
    );
  return [...new Set(texts.map((text) => claimIn(text).name))];
}

const enabledServerNames = (config: Config): readonly string[] => [...enabledServers(config).keys()];
const namesSomebody = (who: unknown): boolean => [who].flat().some((each) => each !== 'everyone');
