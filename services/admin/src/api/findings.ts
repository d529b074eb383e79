/** Problems that an operator should know of now, the worst first, each with what to do. */
import type { Configuration, Finding, Processes, ServerRow, Servers } from '@omnibus/admin-api';

export interface FindingsOf {
  readonly processes: Processes;
  readonly servers: Pick<Servers, 'servers'>;
  readonly configuration: Pick<Configuration, 'rejected' | 'restart' | 'file'>;
}

const severities = ['error', 'warning', 'note'] as const;

export function findingsOf({ processes, servers, configuration }: FindingsOf): Finding[] {
  const found: Finding[] = [
    ...ofProcesses(processes),
    ...ofServers(servers.servers.flatMap(aboutServer)),
    ...ofConfiguration(configuration),
  ];
  return found.toSorted(
    (one, other) =>
      severities.indexOf(one.severity) - severities.indexOf(other.severity) ||
      Number(isDecision(other)) - Number(isDecision(one)),
  );
}

/** Whether it waits for a decision of an operator, which no repair elsewhere makes. */
const isDecision = ({ id }: Finding): boolean => id === 'approvals' || id.startsWith('held ');

function ofProcesses({ processes, missing }: Processes): Finding[] {
  const link = '#/topology';
  const digests = new Set(processes.map(({ configuration }) => configuration));
  const versions = new Set(processes.map(({ version }) => version));
  const waiting = processes.reduce((sum, each) => sum + (each.waiting ?? 0), 0);
  const found: Finding[] = [];
  if (waiting > 0)
    found.push({
      id: 'approvals',
      severity: 'warning',
      text: waiting === 1 ? 'a call waits to be approved' : `${waiting} calls wait to be approved`,
      advice: 'Look at each, and approve or refuse it: omnibus approvals list',
      link: '#/approvals',
    });
  for (const { process, role } of missing)
    found.push({
      id: `missing ${process}`,
      severity: 'error',
      text: `${process} (${role}) does not answer`,
      advice:
        'It is busy, cut off from NATS, of an older version, or gone: see its log. What it held is taken over when its signs of life stay out.',
      link,
    });
  found.push(...processes.flatMap(ofProcess));
  if (digests.size > 1)
    found.push({
      id: 'configurations',
      severity: 'warning',
      text: 'processes run different configurations',
      advice: 'Give all of them the same file, or wait until the last has read it: omnibus reload.',
      link,
    });
  if (versions.size > 1)
    found.push({
      id: 'versions',
      severity: 'note',
      text: `processes run different versions: ${[...versions].join(', ')}`,
      link,
    });
  return found;
}

function ofProcess({ process, problems, bus }: Processes['processes'][number]): Finding[] {
  const link = '#/topology';
  const cutOff: Finding = {
    id: `bus ${process}`,
    severity: 'error',
    text: `${process} is cut off from the bus`,
    advice: 'Is NATS there, and does it let this process in? See its log, and omnibus doctor.',
    link,
  };
  return [
    ...(bus.isConnected ? [] : [cutOff]),
    ...problems
      .filter((problem) => bus.isConnected || problem !== 'the bus is not connected')
      .map((problem): Finding => ({
        id: `problem ${process} ${problem}`,
        severity: 'warning',
        text: `${process} does not serve: ${problem}`,
        link,
      })),
  ];
}

/** A problem of one server. Servers with the same `cause` become one finding. */
interface ServerFinding {
  readonly id: string;
  readonly since?: string | undefined;
  readonly severity: Finding['severity'];
  readonly server: string;
  /** The common part of all servers with this problem. */
  readonly cause: string;
  /** @param servers "server NAME", or "29 servers". @param are the verb that fits. @param said the problem, without the address of one of several. */
  readonly text: (servers: string, are: 'is' | 'are', said: string) => string;
  readonly problem?: string | undefined;
  readonly advice?: string | undefined;
  readonly link: string;
}

/** Servers with one trouble that are findings of their own; more are one finding. */
const maxSingle = 3;
/** Servers that such a finding names. */
const maxNamed = 10;

function ofServers(found: readonly ServerFinding[]): Finding[] {
  return [...Map.groupBy(found, ({ id, cause }) => `${id} ${cause}`).values()].flatMap((alike) => {
    const [first] = alike as [ServerFinding];
    if (alike.length <= maxSingle)
      return alike.map(({ id, severity, server, text, problem = '', advice, since, link }): Finding => ({
        id: `${id} ${server}`,
        severity,
        text: text(`server ${server}`, 'is', problem),
        link,
        ...(advice === undefined ? {} : { advice }),
        ...(since === undefined ? {} : { since }),
      }));
    const names = alike.slice(0, maxNamed).map(({ server }) => server);
    const others = alike.length - names.length;
    const named = `${names.join(', ')}${others === 0 ? '' : ` and ${others} more`}`;
    // Advice that names one server is for that server.
    const began = alike.flatMap(({ since }) => since ?? []).toSorted();
    const common = alike.every(({ advice }) => advice === first.advice) ? first.advice : undefined;
    return [
      {
        id: `${first.id} (${first.cause})`,
        severity: first.severity,
        text: first.text(`${alike.length} servers`, 'are', first.cause),
        advice: common === undefined ? named : `${named}. ${common}`,
        link: first.link.replace(/\/[^/]*$/, ''),
        ...(began[0] === undefined ? {} : { since: began[0] }),
      },
    ];
  });
}

/** A server with what its findings are about. */
interface Facts extends Omit<ServerRow, 'problem'> {
  readonly problem: string | undefined;
  /** The problem without the server's name, its address and the name of its program. */
  readonly cause: string;
  /** Processes that cannot reach it. */
  readonly apart: number;
}

function aboutServer({ problem: said, lastWords, ...row }: ServerRow): ServerFinding[] {
  // A program that has ended says why in its last words.
  const problem =
    said === undefined || row.state === 'up' || lastWords === undefined || said.includes(lastWords)
      ? said
      : `${said}: ${lastWords}`;
  /** Problems name the server, its address or its program beside the common part. */
  const cause =
    problem
      ?.replaceAll(new RegExp(String.raw`(?<![\w-])${row.name}(?![\w-])`, 'g'), '')
      .replaceAll(/https?:\/\/\S+|\d+\.\d+\.\d+\.\d+:\d+/g, '')
      .replace(/(?<=^cannot start )"[^"]+"/, '"…"')
      .trim() ?? 'it does not answer';
  const apart = row.places.filter(({ state }) => state === 'down').length;
  const facts = { ...row, problem, cause, apart };
  const link = `#/servers/${encodeURIComponent(row.name)}`;
  return rules
    .filter((rule) => rule.isMet(facts))
    .map((rule) => ({ id: rule.id, severity: rule.severity, server: row.name, link, ...rule.about(facts) }));
}

interface ServerRule extends Pick<ServerFinding, 'id' | 'severity'> {
  isMet(facts: Facts): boolean;
  about(facts: Facts): Pick<ServerFinding, 'cause' | 'text'> & Partial<ServerFinding>;
}

const offers = (servers: string): string => `${servers} offer${servers.startsWith('server ') ? 's' : ''}`;

const rules: readonly ServerRule[] = [
  {
    id: 'down',
    severity: 'error',
    isMet: ({ state }) => state === 'down',
    about: ({ cause, since, advice, problem = 'it does not answer' }) => ({
      cause,
      text: (servers, are, why) => `${servers} ${are} down: ${why}`,
      problem,
      since,
      advice,
    }),
  },
  {
    id: 'unknown',
    severity: 'warning',
    isMet: ({ state }) => state === 'unknown',
    about: () => ({
      cause: '',
      text: (servers) => `no backend process reports ${servers}`,
      advice: 'Is a process with the role backend there, with the same configuration?',
    }),
  },
  {
    id: 'apart',
    severity: 'warning',
    isMet: ({ state, apart }) => state === 'up' && apart > 0,
    about: ({ apart, places: { length } }) => ({
      cause: `${apart} of ${length}`,
      text: (servers) => `${servers} cannot be reached from ${apart} of ${length} processes`,
    }),
  },
  {
    id: 'problem',
    severity: 'warning',
    isMet: ({ state, problem }) => state === 'up' && problem !== undefined,
    about: ({ cause, problem }) => ({ cause, text: (servers, _are, why) => `${servers}: ${why}`, problem }),
  },
  {
    id: 'paused',
    severity: 'warning',
    isMet: ({ paused }) => paused !== undefined,
    about: ({ name, paused: { by, since, until, because } = { by: '', since: '' } }) => ({
      cause: `${by} ${because ?? ''}`,
      text: (servers, are) =>
        `${servers} ${are} paused by ${by} since ${since}${until === undefined ? '' : `, until ${until}`}${because === undefined ? '' : `: ${because}`}`,
      advice: `Nothing new is sent to it until: omnibus resume ${name}`,
    }),
  },
  {
    id: 'held',
    severity: 'warning',
    isMet: ({ held }) => held > 0,
    about: ({ name, held }) => ({
      cause: String(held),
      text: (servers) => `${held} of what ${offers(servers)} wait to be approved`,
      advice: `See what changed, and approve what is right: omnibus definitions diff ${name}`,
      link: `#/trust/${encodeURIComponent(name)}`,
    }),
  },
  {
    id: 'left out',
    severity: 'note',
    isMet: ({ leftOut }) => leftOut > 0,
    about: ({ leftOut }) => ({
      cause: String(leftOut),
      text: (servers) => `${leftOut} of what ${offers(servers)} cannot be shown to clients`,
      link: '#/catalogue',
    }),
  },
];

function ofConfiguration({ rejected, restart, file }: FindingsOf['configuration']): Finding[] {
  const link = '#/configuration';
  const found: Finding[] = [];
  if (rejected !== undefined)
    found.push({
      id: 'rejected',
      severity: 'error',
      text: `the changed configuration is not in use: ${rejected.problems[0] ?? ''}`,
      advice: `Put it right, and it is read again by itself: omnibus check ${file}`,
      link,
    });
  if (restart.length > 0)
    found.push({
      id: 'restart',
      severity: 'note',
      text: `${restart.join(', ')}: changed, and in use with the next start`,
      link,
    });
  return found;
}
