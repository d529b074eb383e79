/** The pages of a sign-in for a server: a title, a paragraph, and at most one button or link. */

/** @param next label of what leads on: to an address, or, without one, a button that posts an empty form to the address of the page. @returns HTML. */
export function page(title: string, words: string, next?: { readonly label: string; readonly href?: string }): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>body { font: 1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 4rem auto; padding: 0 1rem } button { font: inherit; padding: .5rem 1.5rem }</style>
<h1>${escaped(title)}</h1>
<p>${escaped(words)}</p>
${next === undefined ? '' : `${next.href === undefined ? `<form method="post"><button>${escaped(next.label)}</button></form>` : `<p><a href="${escaped(next.href)}">${escaped(next.label)}</a></p>`}\n`}</html>
`;
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
