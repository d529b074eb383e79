/** The rules of a configuration, compiled, or what is wrong with them; and what of them can never mean anything. */
import { enabledServers, formatProblem, type Config, type ProblemAt } from '@omnibus/config';
import { compile, selectorsOf, type Policy } from '@omnibus/policy';

/** @throws {Error} in words when the rules mean nothing. @returns undefined where there are none. */
export async function compileAccess({ access }: Config): Promise<Policy | undefined> {
  if (access === undefined) return undefined;
  const compiled = await compile(access);
  if ('policy' in compiled) return compiled.policy;
  throw new Error(compiled.problems.map(({ path, message }) => `access.${path.join('.')}: ${message}`).join('\n'));
}

/** What is wrong with the rules, each with its place in the file. */
export async function accessProblems(config: Config, problemAt: ProblemAt): Promise<readonly string[]> {
  const { access } = config;
  if (access === undefined) return [];
  const compiled = await compile(access);
  const problems = 'problems' in compiled ? [...compiled.problems] : [];
  for (const [index, rule] of access.rules.entries()) {
    if (rule.allow === undefined || rule.only === undefined) continue;
    const about = enabledServerNames(config).filter((server) => selectorsOf(rule).some(({ mayCover }) => mayCover(server)));
    if (about.length > 0 && about.every((server) => config.mcpServers[server]?.hints !== 'believe')) {
      problems.push({ path: ['rules', index, 'only'], message: `nobody vouches for what tools of ${about.join(', ')} say of themselves, so this allows nothing; set \`hints: believe\` at the server if you do` });
    }
  }
  return problems.map(({ path, message }) => formatProblem(problemAt(['access', ...path], message)));
}

/** What is right, and probably not meant. */
export function accessWarnings(config: Config): readonly string[] {
  const { access, auth } = config;
  if (access === undefined) return [];
  const servers = enabledServerNames(config);
  const issuers = auth === undefined || auth === 'none' ? [] : auth.issuers;
  const haveTenants = issuers.some(({ tenant }) => tenant !== undefined);
  const isDiscovering = config.discovery.kubernetes.enabled;
  return access.rules.flatMap((rule, index) => {
    const name = `rule ${JSON.stringify(rule.id ?? `#${index + 1}`)}`;
    const unmatched = isDiscovering ? [] : selectorsOf(rule).filter(({ mayCover }) => !servers.some((server) => mayCover(server))).map(({ text }) => JSON.stringify(text));
    const unbelieved = rule.only === undefined ? [] : servers.filter((server) => config.mcpServers[server]?.hints !== 'believe' && selectorsOf(rule).some(({ mayCover }) => mayCover(server)));
    const isGroupAlone = [rule.who].flat().some((who) => (typeof who === 'string' ? who.startsWith('group:') : who.group !== undefined && who.tenant === undefined));
    return [
      ...(unmatched.length === 0 ? [] : [`${name} can never match ${unmatched.join(', ')}: there is no such server`]),
      ...(unbelieved.length === 0 ? [] : [`${name} goes by what tools say of themselves, which counts ${rule.allow === undefined ? 'against' : 'for nothing at'} ${unbelieved.join(', ')} without \`hints: believe\``]),
      ...(haveTenants && isGroupAlone ? [`${name} names a group without its tenant, and so nobody who has one; write { tenant: ..., group: ... }`] : []),
      ...(auth === undefined || auth === 'none' ? namesSomebody(rule.who) ? [`${name} names callers, and nothing says how they are known (auth)`] : [] : []),
    ];
  });
}

const enabledServerNames = (config: Config): readonly string[] => [...enabledServers(config).keys()];
const namesSomebody = (who: unknown): boolean => [who].flat().some((each) => each !== 'everyone');
