/** Problems that an operator should know of now, the worst first, each with what to do. */
import type { Configuration, Finding, Processes, Servers } from '@omnibus/admin-api';

export interface FindingsOf {
  readonly processes: Processes;
  readonly servers: Servers;
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
  return [
    ...(waiting === 0
      ? []
      : [
          {
            id: 'approvals',
            severity: 'warning' as const,
            text: waiting === 1 ? 'a call waits to be approved' : `${waiting} calls wait to be approved`,
            advice: 'Look at each, and approve or refuse it: omnibus approvals list',
            link: '#/approvals',
          },
        ]),
    ...missing.map(({ process, role }): Finding => ({
      id: `missing ${process}`,
      severity: 'error',
      text: `${process} (${role}) does not answer`,
      advice:
        'It is busy, cut off from NATS, of an older version, or gone: see its log. What it held is taken over when its signs of life stay out.',
      link,
    })),
    ...processes.flatMap(({ process, problems, bus }): Finding[] => [
      ...(bus.isConnected
        ? []
        : [
            {
              id: `bus ${process}`,
              severity: 'error' as const,
              text: `${process} is cut off from the bus`,
              advice: 'Is NATS there, and does it let this process in? See its log, and omnibus doctor.',
              link,
            },
          ]),
      ...problems
        .filter((problem) => bus.isConnected || problem !== 'the bus is not connected')
        .map((problem): Finding => ({
          id: `problem ${process} ${problem}`,
          severity: 'warning',
          text: `${process} does not serve: ${problem}`,
          link,
        })),
    ]),
    ...(digests.size > 1
      ? [
          {
            id: 'configurations',
            severity: 'warning' as const,
            text: 'processes run different configurations',
            advice: 'Give all of them the same file, or wait until the last has read it: omnibus reload.',
            link,
          },
        ]
      : []),
    ...(versions.size > 1
      ? [
          {
            id: 'versions',
            severity: 'note' as const,
            text: `processes run different versions: ${[...versions].join(', ')}`,
            link,
          },
        ]
      : []),
  ];
}

/** What is wrong with one server. Servers with the same `cause` become one finding. */
interface ServerFinding {
  readonly id: string;
  readonly since?: string | undefined;
  readonly severity: Finding['severity'];
  readonly server: string;
  /** What is the same for all servers with this trouble. */
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

function aboutServer({
  name,
  state,
  problem: said,
  lastWords,
  since,
  advice,
  leftOut,
  held,
  places,
  paused,
}: Servers['servers'][number]): ServerFinding[] {
  // A program that has ended says why in its last words.
  const problem =
    said === undefined || state === 'up' || lastWords === undefined || said.includes(lastWords)
      ? said
      : `${said}: ${lastWords}`;
  const at = encodeURIComponent(name);
  const about = { server: name, link: `#/servers/${at}` };
  const apart = places.filter((place) => place.state === 'down').length;
  const found: ServerFinding[] = [];
  /** Problems name the server, or its address, in front of what is the same for others. */
  const cause =
    problem
      ?.replaceAll(new RegExp(String.raw`(?<![\w-])${name}(?![\w-])`, 'g'), '')
      .replaceAll(/https?:\/\/\S+|\d+\.\d+\.\d+\.\d+:\d+/g, '')
      .trim() ?? 'it does not answer';
  if (state === 'down')
    found.push({
      ...about,
      id: 'down',
      severity: 'error',
      cause,
      text: (servers, are, why) => `${servers} ${are} down: ${why}`,
      problem: problem ?? 'it does not answer',
      since,
      advice,
    });
  if (state === 'unknown')
    found.push({
      ...about,
      id: 'unknown',
      severity: 'warning',
      cause: '',
      text: (servers) => `no backend process reports ${servers}`,
      advice: 'Is a process with the role backend there, with the same configuration?',
    });
  if (state === 'up' && apart > 0)
    found.push({
      ...about,
      id: 'apart',
      severity: 'warning',
      cause: `${apart} of ${places.length}`,
      text: (servers) => `${servers} cannot be reached from ${apart} of ${places.length} processes`,
    });
  if (state === 'up' && problem !== undefined)
    found.push({
      ...about,
      id: 'problem',
      severity: 'warning',
      cause,
      text: (servers, _are, why) => `${servers}: ${why}`,
      problem,
    });
  if (paused !== undefined) {
    const { by, until, because } = paused;
    found.push({
      ...about,
      id: 'paused',
      severity: 'warning',
      cause: `${by} ${because ?? ''}`,
      text: (servers, are) =>
        `${servers} ${are} paused by ${by} since ${paused.since}${until === undefined ? '' : `, until ${until}`}${because === undefined ? '' : `: ${because}`}`,
      advice: `Nothing new is sent to it until: omnibus resume ${name}`,
    });
  }
  if (held > 0)
    found.push({
      ...about,
      id: 'held',
      severity: 'warning',
      cause: String(held),
      text: (servers) =>
        `${held} of what ${servers} offer${servers.startsWith('server ') ? 's' : ''} wait to be approved`,
      advice: `See what changed, and approve what is right: omnibus definitions diff ${name}`,
      link: `#/trust/${at}`,
    });
  if (leftOut > 0)
    found.push({
      ...about,
      id: 'left out',
      severity: 'note',
      cause: String(leftOut),
      text: (servers) =>
        `${leftOut} of what ${servers} offer${servers.startsWith('server ') ? 's' : ''} cannot be shown to clients`,
      link: '#/catalogue',
    });
  return found;
}

function ofConfiguration({ rejected, restart, file }: FindingsOf['configuration']): Finding[] {
  const link = '#/configuration';
  return [
    ...(rejected === undefined
      ? []
      : [
          {
            id: 'rejected',
            severity: 'error' as const,
            text: `the changed configuration is not in use: ${rejected.problems[0] ?? ''}`,
            advice: `Put it right, and it is read again by itself: omnibus check ${file}`,
            link,
          },
        ]),
    ...(restart.length === 0
      ? []
      : [
          {
            id: 'restart',
            severity: 'note' as const,
            text: `${restart.join(', ')}: changed, and in use with the next start`,
            link,
          },
        ]),
  ];
}
