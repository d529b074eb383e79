/**
 * The environment of programs of the desktop that the gateway starts: the opener of a browser, the keychain. They get what leads to the user's session and
 * nothing else, since other programs of the user can read it, and the gateway's own variables may be secrets.
 */
const passed =
  /^(PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TMPDIR|BROWSER|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|XDG_\w+|DBUS_SESSION_BUS_ADDRESS|DESKTOP_SESSION|GNOME_\w+|KDE_\w+|WSL_\w+|SystemRoot|SYSTEMROOT|USERPROFILE|APPDATA|LOCALAPPDATA|TEMP|TMP|PATHEXT)$/;

export function desktopEnvironment(env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => passed.test(name)));
}
