import { request } from 'node:http';

/** The HTTP status of a GET under another Host, as after a rebinding of its name. */
export function statusAt(url: string, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}
