/** Authenticates the user: by a sign-in at the gateway's issuer, or by an API key or access token. */
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { challenge, isKnown, problemWords, signIn, signInWith, type Challenge } from '../api/ask.ts';
import { refresh, type Live } from '../api/live.ts';
import { Heading, Problem } from './basics.tsx';
import { signedOut } from '../api/signed-out.ts';

/** Why the user has not been signed in. */
const failure = signal<ReturnType<typeof problemWords> | undefined>(undefined);

/** Forgets the key or token, which is in the memory of the tab alone. The next sign-in asks for a name and a password again. */
export function signOut(): void {
  sessionStorage.setItem(signedOut, '');
  location.reload();
}

/** Takes the answer of an issuer out of the address, if one is there. */
export async function comeBack(): Promise<void> {
  if (!new URLSearchParams(location.search).has('state')) return;
  try {
    const { finishSignIn } = await import('../api/sign-in.ts');
    signInWith(await finishSignIn());
  } catch (error) {
    failure.value = problemWords(error);
  }
}

async function leaveFor(asked: Challenge): Promise<void> {
  failure.value = undefined;
  try {
    const { beginSignIn } = await import('../api/sign-in.ts');
    await beginSignIn(asked);
  } catch (error) {
    failure.value = problemWords(error);
  }
}

export function SignIn({ problem }: { readonly problem: Live<unknown>['problem'] }) {
  const [token, setToken] = useState('');
  const asked = challenge.value;
  const give = (event: Event): void => {
    event.preventDefault();
    failure.value = undefined;
    signIn(token);
    refresh();
  };
  return (
    <>
      <Heading>Who is asking?</Heading>
      {failure.value !== undefined ? (
        <Problem {...failure.value} />
      ) : (
        problem !== undefined && isKnown.value && <Problem {...problem} />
      )}
      {/* A page that came over plain http:// from elsewhere can make no proof for the issuer (PKCE). */}
      {asked !== undefined && isSecureContext && (
        <div class="stack">
          <div class="buttons">
            <button type="button" class="strong" onClick={() => void leaveFor(asked)}>
              Sign in
            </button>
          </div>
          <p class="dim">You come back to this view. A reload of the page signs you out.</p>
          <h2>Or with a key</h2>
        </div>
      )}
      <form class="stack" onSubmit={give}>
        <label>
          API key or access token
          <input
            type="password"
            autocomplete="off"
            required
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <p class="dim">
          The key stays in the memory of this tab, and needs a role under <code>auth.admin.roles</code>.
        </p>
        <div class="buttons">
          <button type="submit" class={asked === undefined ? 'strong' : undefined}>
            Continue
          </button>
        </div>
      </form>
    </>
  );
}
