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
    ...servers.servers.flatMap(ofServer),
    ...ofConfiguration(configuration),
  ];
  return found.toSorted((one, other) => severities.indexOf(one.severity) - severities.indexOf(other.severity));
}

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

function ofServer({
  name,
  state,
  problem,
  advice,
  leftOut,
  held,
  places,
  paused,
}: Servers['servers'][number]): Finding[] {
  const link = `#/servers/${encodeURIComponent(name)}`;
  const apart = places.filter((place) => place.state === 'down').length;
  return [
    ...(state === 'down'
      ? [
          {
            id: `down ${name}`,
            severity: 'error' as const,
            text: `server ${name} is down: ${problem ?? 'it does not answer'}`,
            link,
            ...(advice === undefined ? {} : { advice }),
          },
        ]
      : []),
    ...(state === 'unknown'
      ? [
          {
            id: `unknown ${name}`,
            severity: 'warning' as const,
            text: `nobody says what became of server ${name}`,
            advice: 'Is a process with the role backend there, with the same configuration?',
            link,
          },
        ]
      : []),
    ...(state === 'up' && apart > 0
      ? [
          {
            id: `apart ${name}`,
            severity: 'warning' as const,
            text: `server ${name} cannot be reached from ${apart} of ${places.length} processes`,
            link,
          },
        ]
      : []),
    ...(state === 'up' && problem !== undefined
      ? [{ id: `problem ${name}`, severity: 'warning' as const, text: `server ${name}: ${problem}`, link }]
      : []),
    ...(paused === undefined
      ? []
      : [
          {
            id: `paused ${name}`,
            severity: 'warning' as const,
            text: `server ${name} is paused by ${paused.by} since ${paused.since}${paused.until === undefined ? '' : `, until ${paused.until}`}${paused.because === undefined ? '' : `: ${paused.because}`}`,
            advice: `Nothing new is sent to it until: omnibus resume ${name}`,
            link,
          },
        ]),
    ...(held > 0
      ? [
          {
            id: `held ${name}`,
            severity: 'warning' as const,
            text: `${held} of what server ${name} offers wait to be approved`,
            advice: `See what changed, and approve what is right: omnibus definitions diff ${name}`,
            link: `#/trust/${encodeURIComponent(name)}`,
          },
        ]
      : []),
    ...(leftOut > 0
      ? [
          {
            id: `left out ${name}`,
            severity: 'note' as const,
            text: `${leftOut} of what server ${name} offers cannot be shown to clients`,
            link: '#/catalogue',
          },
        ]
      : []),
  ];
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
