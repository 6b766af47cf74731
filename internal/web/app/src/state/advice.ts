/** What the user can do about an error, where the server did not say it itself. */
export function advice(code: string): string | null {
  return known[code] ?? null;
}

const known: Record<string, string | undefined> = {
  runner_disconnected:
    'The connection to the runner was lost and did not come back in time. Look whether the runner’s machine is on and “outrunner run” runs there; then send the message again.',
  runner_restarted:
    'The runner was restarted in the middle of the turn. Nothing was run twice: send the message again if it is still needed.',
  runner_unavailable: 'Start the runner (“outrunner run”), then try again.',
  runner_rejected_event:
    'The runner did not take the message. Its log says why; send the message again after that.',
  runner_failed_to_start: 'The program could not be started. Check its command in the runner’s config.yaml.',
  harness_not_configured:
    'Name a command for this harness in the runner’s config.yaml, under “harnesses”, and restart the runner.',
  identity_unknown:
    'The runner could not learn from the server whose session this is. Send the message again.',
  sub_agent_not_found: 'The agent does not declare this sub-agent (any more). Look into the agent’s folder.',
  RuntimeError:
    'The program behind the agent reported this. If it asks for a login or a key, give it one on the runner’s machine, and send the message again.',
};
