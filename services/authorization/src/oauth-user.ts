/** Identifies a user at a provider without OpenID Connect, such as GitHub, by asking its API with the user's token. */
import { isObject, readWithin, type JsonObject } from '@omnibus/protocol';

export interface OAuthProvider {
  readonly authorizationUrl: string;
  readonly tokenUrl: string;
  readonly userUrl: string;
  readonly groupsUrl?: string | undefined;
  /** The member of an entry of the list that is the group's name. */
  readonly groupName: string;
}

/** The provider no longer accepts the token. */
export class NotSignedIn extends Error {}

const answerMs = 10_000;
const maxBytes = 1_024 * 1_024;

/**
 * The provider's description of the user of a token, with the groups as a claim.
 * @throws {NotSignedIn} when the provider no longer accepts the token.
 * @throws {Error} in words, without the token.
 */
export async function userOf(
  { userUrl, groupsUrl, groupName }: OAuthProvider,
  token: string,
  groupsClaim: string,
): Promise<JsonObject> {
  const { value: user } = await ask(userUrl, token);
  if (!isObject(user)) throw new Error(`the answer of ${userUrl} is not a JSON object`);
  if (groupsUrl === undefined) return user;
  const { value: list, hasMore } = await ask(groupsUrl, token);
  if (!Array.isArray(list)) throw new Error(`the answer of ${groupsUrl} is not a JSON array`);
  // An incomplete list must not count as "no groups".
  if (hasMore) return { ...user, _claim_names: { [groupsClaim]: groupsUrl } };
  return {
    ...user,
    [groupsClaim]: list
      .map((each: unknown) => (isObject(each) ? each[groupName] : undefined))
      .filter((name) => typeof name === 'string'),
  };
}

async function ask(address: string, token: string): Promise<{ readonly value: unknown; readonly hasMore: boolean }> {
  const response = await fetch(address, {
    redirect: 'error',
    signal: AbortSignal.timeout(answerMs),
    headers: { accept: 'application/json', authorization: `Bearer ${token}`, 'user-agent': 'omnibus' },
  });
  if (response.status === 401) throw new NotSignedIn(`${address} no longer accepts the token`);
  if (response.status !== 200) throw new Error(`${address} answers ${response.status}`);
  const tooLarge = (): Error => new Error(`the answer of ${address} is larger than ${maxBytes} bytes`);
  return {
    value: JSON.parse((await readWithin(response.body, maxBytes, tooLarge)).toString()),
    hasMore: /rel="next"/.test(response.headers.get('link') ?? ''),
  };
}
