/** Checks the requirements of a gateway, one after the other, and prints each problem and its fix. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { adminAddress } from '../command-line/shared-options.ts';
import { counted } from '../output/counted.ts';
import { CommandProblem, type Exit } from '@omnibus/client';
import { once } from 'node:events';
import type { NatsExamination } from '@omnibus/bus';
import { enabledServers, formatProblem, type Config, type GivenRole } from '@omnibus/config';
import { printable } from '@omnibus/protocol';
import { exposureProblem, exposureWarning } from '../findings/exposure.ts';
import { adminTlsFilesOf, tlsFilesOf, tlsFilesProblem } from '@omnibus/identity';
import { busAddress, examineBus } from '@omnibus/setup/bus';
import { findSealingKeys } from '@omnibus/setup/sealing-key';
import type { Starting } from '../gateway.ts';
import { answer, answerJson, runCommand } from '../output/outcome.ts';
import { atThisMachine, type AskOptions } from './admin-port.ts';
import type { Finding } from './finding.ts';
import { gatewayFindings, listenOf, tellingGatewayFindings } from './gateway-findings.ts';
import { identityFindings } from './identity-findings.ts';
import { serverFindings } from './server-findings.ts';
import { findConfigFile, needSettings, type Overrides } from './settings.ts';

export interface DoctorOptions extends Omit<Overrides, 'role'>, Starting, Omit<AskOptions, 'admin'> {
  readonly config?: string;
  /** Default: all. */
  readonly role?: GivenRole;
  readonly json?: boolean;
}

const busMs = 5_000;
const slowBusMs = 20;
/** Difference of clocks that is tolerated: sealed ids carry the time of the process that made them. */
const maxSkewMs = 2_000;
const dayMs = 86_400_000;
/** Days before the end of a certificate from which on there is a warning. */
const soonDays = 7;
const marks: Record<Finding['state'], string> = { good: '✓', warning: '!', unchecked: '?', bad: '✗' };

export async function doctor(options: DoctorOptions): Promise<void> {
  await runCommand(options.json, () => examine(options));
  // The checks may leave timers and sockets.
  process.exit();
}

async function examine(options: DoctorOptions): Promise<Exit> {
  const findings: Finding[] = [];
  const found = (finding: Finding): void => {
    findings.push(finding);
    if (options.json === true) return;
    answer(
      `${marks[finding.state]} ${finding.about}: ${printable(finding.text)}\n${finding.advice === undefined ? '' : `    ${finding.advice}\n`}`,
    );
  };
  if (findConfigFile(options.config) === undefined) await examineRunning(options, found);
  else await examineFile(options, found);
  if (options.json === true) answerJson(findings);
  return findings.some(({ state }) => state === 'bad') ? 'config' : 'done';
}

/** Without a configuration in this folder, it asks the running gateway. @throws {CommandProblem} when none runs. */
async function examineRunning(options: DoctorOptions, found: (finding: Finding) => void): Promise<void> {
  const admin = options.admin ?? adminAddress(process.env);
  try {
    for (const finding of await gatewayFindings({ ...options, admin })) found(finding);
  } catch (error) {
    if (!(error instanceof CommandProblem) || error.exit !== 'unreachable') throw error;
    throw new CommandProblem(
      'config',
      `there is no configuration in this folder, and no gateway answers at ${error.message}`,
      { advice: 'Name a configuration with --config FILE, or the admin address of a gateway with --admin HOST:PORT.' },
    );
  }
}

async function examineFile(options: DoctorOptions, found: (finding: Finding) => void): Promise<void> {
  // The option names a gateway that runs, and no address for one to listen at.
  const { admin: _asked, ...others } = options;
  const { config, file, baseFolder, faults, notes } = await needSettings(options.config, others, { connects: true });
  found({
    about: 'configuration',
    state: faults.length === 0 ? 'good' : 'warning',
    text: `${file} ${faults.length === 0 ? 'is good' : 'has mistakes, and its other parts can be used'}: ${counted(enabledServers(config).size, 'server')}, ${counted(Object.keys(config.profiles).length, 'profile')}`,
  });
  for (const fault of faults) found({ about: 'configuration', state: 'bad', text: formatProblem(fault) });
  for (const note of notes) found({ about: 'configuration', state: 'warning', text: formatProblem(note) });
  // bin/omnibus.js refuses a Node that is too old before this runs.
  found({ about: 'Node', state: 'good', text: process.versions.node });
  const { role = 'all' } = options;
  for (const finding of await runningFindings(config, baseFolder, options)) found(finding);
  for (const finding of [
    ...exposureFindings(config),
    ...(await tlsFindings(config, baseFolder)),
    ...(await identityFindings(config, baseFolder, role === 'all' || role === 'edge')),
  ])
    found(finding);
  for (const finding of await busFindings(config, baseFolder, role)) found(finding);
  if (role !== 'backend') for (const finding of sealingFindings(config, baseFolder)) found(finding);
  if (role === 'all' || role === 'backend')
    for (const finding of await serverFindings(config, baseFolder, options.start)) found(finding);
  else found({ about: 'servers', state: 'unchecked', text: `a process with the role ${role} connects to no servers` });
}

/** The address for requests to a gateway with this configuration. */
function askedAt(config: Config, baseFolder: string): string {
  return `${adminTlsFilesOf(config, baseFolder) === undefined ? 'http' : 'https'}://${atThisMachine(config.admin)}`;
}

/** Whether callers on other machines can use the gateway without authentication. */
function exposureFindings(config: Config): Finding[] {
  const [problem, warning] = [exposureProblem(config), exposureWarning(config)];
  if (problem !== undefined)
    return [
      { about: 'auth', state: 'bad', text: problem, advice: 'To let everybody in on purpose, write: auth: none.' },
    ];
  return warning === undefined
    ? []
    : [
        {
          about: 'auth',
          state: 'warning',
          text: warning,
          advice: 'Configure how callers prove who they are: docs/how-to/identity.md.',
        },
      ];
}

/** Whether the certificate and key for clients can be used, and until when. */
async function tlsFindings(config: Config, baseFolder: string): Promise<Finding[]> {
  const files = tlsFilesOf(config, baseFolder);
  if (files === undefined) return [];
  const problem = await tlsFilesProblem(config, baseFolder);
  if (problem !== undefined)
    return [
      {
        about: 'tls',
        state: 'bad',
        text: problem,
        advice: 'Correct `tls`: it needs a certificate and its key in PEM.',
      },
    ];
  const { validToDate } = new X509Certificate(readFileSync(files.certFile));
  const days = Math.floor((validToDate.getTime() - Date.now()) / dayMs);
  const text = `${files.certFile} is valid until ${validToDate.toISOString().slice(0, 10)}`;
  if (days >= soonDays) return [{ about: 'tls', state: 'good', text }];
  return [
    {
      about: 'tls',
      state: days < 0 ? 'bad' : 'warning',
      text,
      advice: 'Replace the certificate and its key: a running gateway uses the new ones without a restart.',
    },
  ];
}

/** The addresses of the configuration, and the gateway that runs at them or at the one that the user names. */
async function runningFindings(
  config: Config,
  baseFolder: string,
  options: DoctorOptions,
): Promise<readonly Finding[]> {
  const addresses = await addressFindings(config, options.role ?? 'all');
  const isInUse = addresses.some(({ about, state }) => about === 'admin' && state === 'warning');
  const own = askedAt(config, baseFolder);
  const admin = options.admin ?? own;
  const running = options.admin !== undefined || isInUse ? await tellingGatewayFindings({ ...options, admin }) : [];
  // A gateway that answers at the admin address of this configuration uses that one; at which other one it listens, it says itself.
  const isOurs = admin === own && running.some(({ about, state }) => about === 'gateway' && state === 'good');
  const uses: Readonly<Record<string, string | undefined>> = isOurs
    ? { admin: config.admin, listen: await listenOf({ ...options, admin }) }
    : {};
  return [
    ...addresses.map((finding): Finding => {
      const { about, state, text } = finding;
      const isUsed = uses[about] === (about === 'listen' ? config.listen : config.admin);
      return isUsed && state === 'warning'
        ? { about, state: 'good', text: `${text} by the gateway that runs` }
        : finding;
    }),
    ...running,
  ];
}

/** Whether the ports can be listened on. */
async function addressFindings({ listen, admin }: Config, role: GivenRole): Promise<Finding[]> {
  const addresses = [
    ...(role === 'all' || role === 'edge' ? [['listen', listen] as const] : []),
    ['admin', admin] as const,
  ];
  return Promise.all(
    addresses.map(async ([option, address]): Promise<Finding> => {
      const { hostname, port } = new URL(`http://${address}`);
      const server = createServer();
      try {
        server.listen(Number(port || 80), hostname.replace(/^\[|\]$/g, ''));
        await once(server, 'listening');
        server.close();
        return { about: option, state: 'good', text: `${address} is free` };
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        return code === 'EADDRINUSE'
          ? {
              about: option,
              state: 'warning',
              text: `${address} is in use`,
              advice: `A gateway may be running already. If something else uses the address, choose another one: "${option}" in the configuration.`,
            }
          : {
              about: option,
              state: 'bad',
              text: `${address} cannot be listened on: ${code}`,
              advice: 'Choose an address of this machine, and a port above 1023 unless you are root.',
            };
      }
    }),
  );
}

async function busFindings(config: Config, baseFolder: string, role: GivenRole): Promise<Finding[]> {
  if (config.bus === 'memory') return [{ about: 'bus', state: 'good', text: 'in this process' }];
  try {
    const { roundTripMs, roles, storage, clockSkewMs } = await examineBus(config, baseFolder, busMs);
    return [
      roundTripMs < slowBusMs
        ? { about: 'bus', state: 'good', text: `${busAddress(config)} answers in ${roundTripMs.toFixed(1)} ms` }
        : {
            about: 'bus',
            state: 'warning',
            text: `${busAddress(config)} answers in ${roundTripMs.toFixed(0)} ms`,
            advice: 'Each call needs several such round trips: run NATS near the gateway.',
          },
      rolesFinding(roles, role),
      storageFinding(storage),
      clockFinding(clockSkewMs),
    ];
  } catch (error) {
    return [
      {
        about: 'bus',
        state: 'bad',
        text: (error as Error).message,
        advice: /let this process in|two ways|certificate|TLS|login/.test((error as Error).message)
          ? 'See `nats` in docs/reference/config.md.'
          : 'Start NATS (nats-server -js), or correct its address: --bus nats://host:4222.',
      },
    ];
  }
}

/** Which roles the NATS user has the permissions of. A user of some roles only is good for these; `--role` says which one is meant. */
function rolesFinding(roles: NatsExamination['roles'], wanted: GivenRole): Finding {
  const about = 'bus user';
  if (roles.includes('all')) return { about, state: 'good', text: 'may be used by processes of every role' };
  if (roles.includes(wanted)) return { about, state: 'good', text: `may be used by a process with the role ${wanted}` };
  const named =
    roles.length === 0
      ? 'has the permissions of no role'
      : `may be used by a process with the role ${roles.join(' or ')}, not ${wanted === 'all' ? 'by one with all roles' : wanted}`;
  const advice = 'Give it the permissions of its role: omnibus nats-permissions, docs/reference/nats.md.';
  if (wanted !== 'all' || roles.length === 0) return { about, state: 'bad', text: named, advice };
  return {
    about,
    state: 'unchecked',
    text: `${named}; what the other roles need was not looked at`,
    advice: 'Name the role of this process: --role.',
  };
}

function storageFinding(storage: NatsExamination['storage']): Finding {
  const about = 'storage';
  if (storage === 'there') return { about, state: 'good', text: 'JetStream answers' };
  if (storage === undefined)
    return {
      about,
      state: 'unchecked',
      text: 'this user may not ask JetStream',
      advice: 'Give it the permissions of its role: omnibus nats-permissions, docs/reference/nats.md.',
    };
  return {
    about,
    state: 'bad',
    text: storage.problem,
    advice: 'Start NATS with JetStream (nats-server -js), or correct `nats.domain`.',
  };
}

function clockFinding(skewMs: number | undefined): Finding {
  const about = 'clock';
  if (skewMs === undefined)
    return {
      about,
      state: 'unchecked',
      text: 'the clock of NATS could not be read: this user may not write there, or nothing is stored there yet',
      advice: 'Try again after a gateway has run, or compare the clocks yourself with "date".',
    };
  if (Math.abs(skewMs) < maxSkewMs)
    return { about, state: 'good', text: `within ${Math.max(1, Math.abs(Math.round(skewMs)))} ms of the bus` };
  return {
    about,
    state: 'bad',
    text: `${Math.abs(skewMs / 1_000).toFixed(1)} s ${skewMs > 0 ? 'behind' : 'ahead of'} the bus`,
    advice: 'Synchronize the clocks by NTP: encrypted ids contain a time, and would expire too early or too late.',
  };
}

/** Whether there is a sealing key: session workers seal ids that clients bring back to any of them. */
function sealingFindings(config: Config, baseFolder: string): Finding[] {
  if (config.bus === 'memory') return [];
  try {
    findSealingKeys('session', { config, baseFolder, env: process.env });
    return [{ about: 'sealing key', state: 'good', text: 'it is there' }];
  } catch (error) {
    return [
      {
        about: 'sealing key',
        state: 'bad',
        text: (error as Error).message,
        advice: 'Processes with the role session need it, and with `auth` edges too; all of them need the same key.',
      },
    ];
  }
}
