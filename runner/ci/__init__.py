"""Results for continuous integration: JUnit XML, SARIF 2.1.0, and annotations of a GitHub workflow.

    verdict.json, hazards.json ──judged──▶ Results ──junit──▶ JUnit XML
    a comparison ──compare.ci_results──▶      │ ─────sarif──▶ SARIF
                                              └─────github──▶ workflow commands, the job's summary

Door: `targets.add_options` and `targets.write` for commands; `judged.results` for the results of `runner judge`.
Takes: a run, its verdict, and where the user's files are. Gives: files and lines on a stream.
What may not cross: the formats know `Results` only, not how a run was judged or compared.
"""
