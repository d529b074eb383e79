/** The page of an issuer of a test that asks a person which account is meant, and whether it may be used. */

/** @param query of the request, which the form sends again with `login` and `answer`. @returns HTML. */
export function accountPage(query: URLSearchParams): string {
  const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  const hidden = [...query]
    .map(([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`)
    .join('');
  return `<!doctype html><html lang="en"><title>Choose an account</title><h1>Choose an account</h1>
<form action="/authorize">${hidden}<label>Account <input name="login"></label> <button name="answer" value="allow">Allow</button> <button name="answer" value="decline">Decline</button></form></html>`;
}
