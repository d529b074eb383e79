/** A minimal browser for the sign-in at a server: the issuer redirects back without a question. */

export interface Page {
  readonly status: number;
  readonly text: string;
  /** The final address. */
  readonly address: string;
}

const maxRedirects = 10;

/**
 * Opens the address of a sign-in, presses the button there, and follows all redirects.
 * @param change may change an address on the way.
 * @param reload whether a page on the way back that could not be loaded, or says that no process can answer, is loaded again; left out, it never is.
 */
export async function signInAt(
  address: string,
  change: (to: string) => string = (to) => to,
  reload: () => Promise<boolean> = () => Promise.resolve(false),
): Promise<Page> {
  const cookies = new Map<string, string>();
  const open = async (url: string, method: string): Promise<Response> => {
    const jar = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      headers: {
        ...(method === 'POST' ? { origin: new URL(url).origin } : {}),
        ...(jar === '' ? {} : { cookie: jar }),
      },
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie) as unknown as [string, string, string];
      cookies.set(name, value);
    }
    return response;
  };
  const shown = async (at: string): Promise<Response> => {
    for (;;) {
      const response = await open(at, 'GET').catch((error: unknown) => error as Error);
      if (!(response instanceof Error) && response.status < 500) return response;
      if (!(await reload())) {
        if (response instanceof Error) throw response;
        return response;
      }
    }
  };
  const first = await open(address, 'GET');
  if (first.status !== 200) return { status: first.status, text: await first.text(), address };
  await first.text();
  let [at, response] = [address, await open(address, 'POST')];
  for (let count = 0; count < maxRedirects && response.status >= 300 && response.status < 400; count += 1) {
    at = change(new URL(response.headers.get('location') ?? '', at).href);
    await response.body?.cancel();
    response = await shown(at);
  }
  return { status: response.status, text: await response.text(), address: at };
}
