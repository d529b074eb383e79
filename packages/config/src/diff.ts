import { isDeepStrictEqual } from 'node:util';
import type { Config, ServerConfig } from './schema.ts';

/** Effects of a changed configuration on servers: only changed ones are touched. */
export interface ServerChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** The servers to connect to: those not disabled. */
export function enabledServers(config: Config): ReadonlyMap<string, ServerConfig> {
  return new Map(Object.entries(config.mcpServers).filter(([, server]) => !server.disabled));
}

/**
 * Why a configuration has nothing to connect to, in words; undefined if it has.
 * @returns the problem, and what to do.
 */
export function noServers(config: Config): { readonly problem: string; readonly advice: string } | undefined {
  if (enabledServers(config).size > 0) return undefined;
  const names = Object.keys(config.mcpServers);
  return names.length === 0
    ? {
        problem: 'there are no servers',
        advice: 'name some under mcpServers, or run "omnibus import" or "omnibus add"',
      }
    : {
        problem: `${names.length === 1 ? 'the only server' : 'each server'} is disabled: ${names.join(', ')}`,
        advice: 'remove "disabled: true" of those to use',
      };
}

export function diffServers(before: Config, after: Config): ServerChanges {
  const old = enabledServers(before);
  const now = enabledServers(after);
  return {
    added: [...now.keys()].filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !now.has(name)),
    // `hints` matters to the rules under `access` only; changing it does not touch the connection.
    changed: [...now]
      .filter(
        ([name, server]) =>
          old.has(name) && !isDeepStrictEqual({ ...old.get(name), hints: undefined }, { ...server, hints: undefined }),
      )
      .map(([name]) => name),
  };
}

/** Options that only take effect with a restart, of those that differ. */
export function restartOptions(before: Config, after: Config): string[] {
  const [one, other] = [before, after].map((config) => withoutVaultKeys(withoutRules(withoutRoles(config)))) as [
    Config,
    Config,
  ];
  const approvals =
    isDeepStrictEqual(before.access?.approvals, after.access?.approvals) || before.access === undefined
      ? []
      : ['access.approvals'];
  return [
    ...(
      [
        'listen',
        'tls',
        'admin',
        'bus',
        'auth',
        'publicUrl',
        'proxy',
        'nats',
        'sessions',
        'log',
        'limits',
        'security',
        'tracing',
        'audit',
        'discovery',
        'vault',
      ] as const
    ).filter((option) => !isDeepStrictEqual(one[option], other[option])),
    ...approvals,
  ];
}

/** The configuration without the roles of the admin port, which a running gateway follows. */
function withoutRoles(config: Config): Config {
  const { auth } = config;
  return auth === undefined || auth === 'none' || auth.admin === undefined
    ? config
    : {
        ...config,
        auth: {
          ...auth,
          admin: {
            ...auth.admin,
            tenants: {},
            roles: { viewer: [], operator: [], approver: [], auditor: [], admin: [] },
          },
        },
      };
}

/** The configuration without `limits.rules`, which a running gateway follows. */
function withoutRules(config: Config): Config {
  return { ...config, limits: { ...config.limits, rules: [] } };
}

/** The configuration without keys of the vault, which a running gateway takes. Without any it makes its own, which it decides at its start. */
function withoutVaultKeys(config: Config): Config {
  return config.vault === undefined || config.vault.keys.length === 0
    ? config
    : { ...config, vault: { ...config.vault, keys: ['some'] } };
}
