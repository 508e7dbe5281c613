"""Both NDCG definitions, MAP, MRR and their kin while LightGBM and XGBoost train."""
