/** The programs that users have allowed to act for them, for the account page and for operators. */
import type Provider from 'oidc-provider';
import type { Allowed, People } from './people.ts';
import { Revocations } from './revocations.ts';

/** A program that a user has allowed, as operators see it: without the id of the grant, which the user's page and tokens have. */
export interface Program {
  /** Names the consent, and opens nothing. */
  readonly id: string;
  readonly client: string;
  /** The name that the program gives itself. */
  readonly name?: string;
  readonly hosts: readonly string[];
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
  /** ISO 8601. */
  readonly since: string;
  /** The day of its last refresh, ISO 8601. */
  readonly lastUse: string;
}

/** The consents of a user whose grants have not ended, the latest first. */
export async function allowedNow(
  people: Pick<People, 'allowed'>,
  provider: Provider,
  subject: string,
): Promise<readonly Allowed[]> {
  const kept = await Promise.all(
    (await people.allowed(subject)).map(async (each) =>
      (await provider.Grant.find(each.grantId)) === undefined ? [] : [each],
    ),
  );
  return kept.flat().toSorted((a, b) => b.at - a.at);
}

/** With a letter in front: people give it to commands, which read a leading `-` as an option. */
const idOf = (grantId: string): string => `p${Revocations.nameOf(grantId)}`;

export function shownProgram({
  grantId,
  clientId,
  clientName,
  redirectHosts,
  scopes,
  resources,
  at,
  usedAt = at,
}: Allowed): Program {
  return {
    id: idOf(grantId),
    client: clientId,
    ...(clientName === undefined ? {} : { name: clientName }),
    hosts: redirectHosts,
    scopes,
    resources,
    since: new Date(at).toISOString(),
    lastUse: new Date(usedAt).toISOString().slice(0, 10),
  };
}

/** @param id as `shownProgram` gives it. */
export function programOf(allowed: readonly Allowed[], id: string): Allowed | undefined {
  return allowed.find(({ grantId }) => idOf(grantId) === id);
}

/**
 * Revokes a consent.
 * @returns its client, with the problem if its tokens have ended and the store has not removed the consent.
 * @throws if its tokens have not ended.
 */
export async function revoke(
  people: Pick<People, 'takeBack'>,
  revocations: Pick<Revocations, 'has'>,
  subject: string,
  { grantId, clientId: client }: Allowed,
): Promise<{ readonly client: string; readonly problem?: string }> {
  try {
    await people.takeBack(subject, grantId);
    return { client };
  } catch (error) {
    if (!revocations.has(Revocations.nameOf(grantId))) throw error;
    return { client, problem: (error as Error).message };
  }
}
